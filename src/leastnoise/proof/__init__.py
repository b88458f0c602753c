"""A second judge, small and slow: it recomputes a guarantee with every rounding enclosed.

    balls        numbers with a bound on their error (Arb, by python-flint)
    pairs        δ(ε) of one release of each kind, enclosed
    shells       laws given by integer weights of shells: how many points lose how much
    norms        the same for norms that are fitted to what one person can change
    changes      how far one person moves the answers, in exact numbers
    laws         from the law in a file to its pair
    composition  several releases: every sum listed, or Connect-the-Dots and products of polynomials
    theorem      whether the stated ε holds, or by how much it falls short

It is written from the definitions (docs/mathematics.md#the-second-judge) and imports nothing of the
first one, neither `lattice`, `losses`, `laws` nor `accountant`: for a wrong ε to pass, two programs
must err alike. It trusts Python's integers, and Arb.
"""
