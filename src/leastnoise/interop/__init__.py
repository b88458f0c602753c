"""At home in other people's tools. One file each; the foreign library is imported when its adapter is used, never before.

opendp         a design as an OpenDP measurement, scalar or vector                                  leastnoise[opendp]
dp_accounting  a law as a PrivacyLossDistribution or a DpEvent, and theirs as a loss of ours         leastnoise[dp-accounting]
notebook       designs and laws as HTML tables with small drawings; a progress bar                   leastnoise[notebook]
scipy_stats    a law as a frozen scipy distribution, for analysis
schemas        the JSON formats as JSON Schemas, for other languages
distance       the loss of a sampled law at any distance between neighbours, for the adapters
"""
