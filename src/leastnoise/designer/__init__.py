"""How a design is searched: from a request to the best law with its proof.

Read in this order:

    design         `design`, the entrance
    request        what is asked for, in the user's units and in lattice units
    fits           unequal ranges and weights: what reduces to equal ones, and by which scales
    search         the best law at a given sigma: which laws compete, which is preferred
    at_epsilon     the same at a given ε: what is calibrated, and from where
    capped         the same within several promises: every body competes
    frontier       the least noise against a cap on the attacker's advantage
    own_curve      the whole curve of normal noise, which normal noise keeps best
    calibrate      which scale gives this ε: the one search
    tight          our own law of least true ε
    moments        our own law of least Rényi divergence, as the paper asks for
    lattice_law    a law in lattice units while it is looked for, with its certificate
    whole_numbers  laws on the real line rounded to whole numbers
    rivals         the known laws at the same cost, and the ε each needs
    compare        all of them at one setting, side by side
    cactus         the Cactus law, the α → 1 end of the Rényi program
    published      the published method: Algorithms 1, 2 and 3
    published_program  its program: constraints, objective, gradient
    floor          what it may claim of all other noise
    result         what a design is, as the user gets it and as the search passes it on
"""
