"""The privacy loss of one release, one file a kind.

    base        what every loss offers: one Protocol; what the closed forms share
    table       finitely many losses and their probabilities
    gaussian    normal noise          laplace    Laplace noise          sphere    e^(−‖z‖₂/b)
    cut_cube    e^(−max(‖z‖_∞, ‖z‖₂/√C)/b), from proven bounds on cube_sums: sums over a cube
    bent_sphere e^(−(‖z‖₂/b)^a), between bounds from cells of the radius
    flat_sphere e^(−max(‖z‖₂/b − c, 0)), from what balls have in common
    worst       the worst of several tables: the shifts of a law that is not monotone
    lattice     from shell masses and a shift in whole steps to a table
    norm        the same for laws of an integer norm: exactly for the range, else as pure laws
    distance    the same for any distance between neighbours
    divergence  Rényi divergences of a table          rounding    what every sum allows for

No loss knows a law: a law's `loss(sensitivity)` makes one from its own numbers.
"""
