"""The convex programs: the law of least divergence, or of least ε, at a given cost.

Read in this order:

    budget           a lattice and the cost a law on it must have
    problem          the Rényi program of one order: its data, and how they are chosen
    pairs            objective, gradient and banded Hessian, as sums over pairs of shells
    point            a law that meets both constraints, and what is known at one
    certificate      the proven lower bound
    start            where the solver starts: the smooth limit of the optimum
    newton           the loop: a primal-dual barrier method
    step             one step of it
    optimum          what it returns: law, value, bound
    renyi            `solve`, the entrance

    staircase        order ∞, pure privacy: the best staircase, with its own certificate
    ended_staircase  one release at a given δ: the best staircase that ends
    schrodinger      vanishing sensitivity: the law of least Fisher information, of any cost
    linear           one joint release as a linear program
    frozen           several releases: δ as a function of one release's law, the others held
    descent          Newton steps on that, judged by the true ε
"""
