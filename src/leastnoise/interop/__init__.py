"""At home in other people's tools. One file each; the foreign library is imported when
its adapter is used, never before.

opendp         a design as an OpenDP measurement, scalar or vector            leastnoise[opendp]
dp_accounting  a law as a PrivacyLossDistribution or a DpEvent, and theirs
               as a loss of ours                                       leastnoise[dp-accounting]
notebook       progress bars                                                leastnoise[notebook]
distance       for the adapters: the law that is drawn, and its loss at any distance
untruncated    for the adapters: a law whose support has no end, drawn exactly
"""
