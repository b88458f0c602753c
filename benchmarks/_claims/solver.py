"""The numbers of the solver, `leastnoise.solver`."""

from __future__ import annotations

from benchmarks._claims.record import Claim, Limit

_PROGRAMS = ("programs", "free programs")

NEWTON = (
    Claim(
        "solver.newton",
        "_PATIENCE",
        150,
        "a hundred answers: the certificate comes long after the objective has stopped moving",
        (10, 40),
        ("joint programs",),
    ),
    Claim(
        "solver.newton",
        "_FIRST",
        0.01,
        "no iterations on a barrier far from the law: a quarter more at 1e-6",
        (1e-6,),
        ("programs", "warm starts"),
        time=1.05,
    ),
    Claim(
        "solver.newton",
        "_LAST",
        1e-4,
        "the certificate: with μ well above the tolerance no gap reaches it",
        (100.0,),
        ("programs", "stepped programs", "joint programs"),
        time=1.05,
    ),
    Claim(
        "solver.newton",
        "_LONG",
        0.9,
        "μ falls only from near the centre",
        (0.0,),
        ("stepped programs", "free programs"),
        time=1.02,
    ),
    Claim(
        "solver.newton",
        "_CENTRED",
        10.0,
        "the same: without, one program in a hundred is not solved",
        (1e300, 0.01),
        ("programs", "stepped programs", "free programs"),
        time=1.02,
    ),
    Claim(
        "solver.newton",
        "_FALL",
        0.03,
        "as few iterations as without a barrier's detours",
        (0.5, 1e-4),
        (*_PROGRAMS, "stepped programs"),
        time=1.1,
    ),
)

STEP = (
    Limit("solver.step", "_PROXIMAL", 1e-10, "keeps the matrix definite to working precision"),
    Claim(
        "solver.step",
        "_TO_BOUNDARY",
        0.99,
        "long steps: at a half of the way the iterations are half as many again",
        (0.5,),
        _PROGRAMS,
        time=1.15,
    ),
    Claim(
        "solver.step",
        "_DUAL_RANGE",
        1e3,
        "a law of a neighbouring order is a start that saves a tenth of the iterations",
        (1e300,),
        ("warm starts",),
        time=1.05,
    ),
    Limit("solver.step", "_LIGHTEST", 1e-250, "no 0/0 where the mass of a shell underflows"),
)

START = (
    Claim(
        "solver.start",
        "_REMAINING",
        1e-15,
        "no cost of cutting the law off: with 1e-6 left the divergence is off by as much",
        (1e-3, 1e-6),
        _PROGRAMS,
        epsilon=1e-7,
    ),
    Limit("solver.start", "_CORE", 1e-30, "shells lighter than that share one height"),
    Limit("solver.start", "_MOST_SHELLS", 400_000, "memory: a wider window is refused"),
    Claim(
        "solver.start",
        "_STEPPED_LARGE",
        20.0,
        "a start with steps where the optimum has them: σ = 0.1s, α = 64 converges",
        (1e300,),
        ("stepped programs",),
    ),
    Claim(
        "solver.start",
        "_STEPPED_SMALL",
        100.0,
        "the same for wide noise of a large order, and not before the steps matter",
        (0.0,),
        ("programs",),
        time=1.1,
    ),
    Claim(
        "solver.start",
        "_SOFT",
        8.0,
        "steps as soft as the optimum's",
        (0.1,),
        ("stepped programs",),
        time=1.1,
    ),
    Limit("solver.start", "_SOFTEST", 0.7, "a start with steps keeps some of them"),
)

PAIRS = (
    Claim(
        "solver.pairs",
        "_SCALED_FROM",
        40.0,
        "small terms by expm1, without cancellation; large ones by logarithms, without overflow",
        (1e300, -1e300),
        ("far programs",),
    ),
    Limit("solver.pairs", "_REMAINDER", 1e-20, "the folded tail is exact to rounding"),
    Limit("solver.pairs", "_MOST_TERMS", 20_000_000, "memory: a longer tail is refused"),
)

STAIRCASE = (
    Limit("solver.staircase", "_NEGLIGIBLE", 46.0, "levels lighter than e^−46 = 1e-20 are left"),
    Limit("solver.staircase", "_MOST_SHELLS", 10_000_000, "memory: a wider table is refused"),
    Limit(
        "solver.staircase",
        "_SHORTFALLS",
        (1e-11, 1e-10, 1e-9),
        "the proof's margin for rounding, the smallest that suffices",
    ),
    Limit("solver.staircase", "_SMALLEST", 690.0, "e^−690 is a double"),
    Limit("solver.staircase", "_NUDGE", 1e-5, "a central difference, good to 1e-9"),
    Claim(
        "solver.ended_staircase",
        "_MOST_POINTS",
        60_000,
        "all laws where they are few; of many, coarse to fine takes a share of the time",
        (10**9,),
        ("ended staircases",),
    ),
    Limit(
        "solver.ended_staircase",
        "_MOST_WIDTHS",
        40,
        "widths looked at together: 8 do as well, 4 or fewer never come closer",
    ),
    Limit("solver.ended_staircase", "_MOST_SHELLS", 1_000_000, "memory: None beyond"),
    Limit(
        "solver.ended_staircase",
        "_KEPT",
        1e-8,
        "δ kept for rounding: a law whose end alone weighs more than δ has no ε at all",
    ),
    Claim(
        "solver.ended_staircase",
        "_FAINT",
        1e-4,
        "the window is long enough for the best end",
        (1e4,),
        ("ended staircases",),
        epsilon=1e-9,
        time=1.05,
    ),
    Limit("solver.ended_staircase", "_LARGEST_LOSS", 300.0, "e^−300 is a double"),
    Limit("solver.ended_staircase", "_ATOM", -1, "a name: the end of the law without noise"),
)

LINEAR = (
    Limit("solver.linear", "_MOST_SHELLS", 4_000, "time: a larger program is not tried"),
    Limit("solver.linear", "_MOST_PAIRS", 3_000, "time: eight programs of so many pairs, a second"),
    Limit(
        "solver.linear", "_MOST_PAIRS_ONCE", 6_000, "time: one program of so many, half a second"
    ),
    Claim(
        "solver.linear",
        "_SOLVES",
        8,
        "Newton steps enough to reach δ",
        (1,),
        ("one joint release",),
        epsilon=1e-5,
    ),
    Limit("solver.linear", "_LARGE", 1e12, "HiGHS refuses numbers above 1e15"),
    Limit("solver.linear", "_CLOSE", 1e-5, "of δ: how near the program's value is brought to it"),
    Limit(
        "solver.linear",
        "_EXACTLY",
        {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        "HiGHS else breaks a tight row beside a loose one, by up to a tenth",
    ),
    Limit("solver.linear", "_KEPT", 1e-7, "of δ: kept for the rounding of HiGHS"),
    Claim(
        "solver.linear",
        "_BEYOND",
        1e-2,
        "a window that holds the optimum, and no more than that",
        (100.0, 1e-12),
        ("one joint release",),
        epsilon=1e-6,
    ),
)

DESCENT = (
    Claim(
        "solver.descent",
        "_MOST_ITERATIONS",
        50,
        "the last half per cent of ε where δ is large and the releases are few",
        (10, 25),
        ("descent",),
    ),
    Claim(
        "solver.descent",
        "_LEAST_GAIN",
        2e-7,
        "small gains add up, and below they do not",
        (2e-5, 0.0),
        ("several releases",),
    ),
    Claim(
        "solver.descent",
        "_GOOD_GAIN",
        1e-4,
        "the barrier is lowered when a law is near the present centre, not before",
        (1e300,),
        ("descent",),
    ),
    Limit("solver.descent", "_BARRIER", 1e-3, "where the barrier begins"),
    Claim(
        "solver.descent",
        "_LEAST_BARRIER",
        1e-8,
        "the barrier ends where it costs nothing",
        (1e-3,),
        ("several releases",),
    ),
    Limit(
        "solver.descent", "_LOWER", 0.2, "by which the barrier falls; 0.5 is no worse, but slower"
    ),
    Limit("solver.descent", "_SMOOTHING", 0.3, "where the smoothing begins"),
    Claim(
        "solver.descent",
        "_LEAST_SMOOTHING",
        0.02,
        "a Hessian that is right in the end",
        (0.3,),
        ("descent",),
    ),
    Limit("solver.descent", "_SHARPEN", 0.5, "by which the smoothing falls"),
    Limit("solver.descent", "_TRIES", 8, "the shortest step is 0.002 of the whole"),
    Limit("solver.descent", "_SHORTER", 0.4, "each step beside the one before"),
    Claim(
        "solver.descent",
        "_LONG",
        0.3,
        "a step that had to be cut is cut to its best length: five releases gain 6e-4",
        (0.0,),
        ("several releases",),
    ),
    Claim(
        "solver.descent",
        "_SECANTS",
        12,
        "ε from one grid, where the judge may need two",
        (0,),
        ("two releases",),
        time=1.1,
    ),
    Limit("solver.descent", "_SETTLED", 1e-9, "of ε: beyond, a step is rounding"),
    Limit("solver.descent", "_COARSER", 8, "a grid 4^8 times as coarse is no grid"),
    Limit("solver.descent", "FINE", (5e-6, 2**16), "the judge's accuracy, on fewer points"),
    Limit("solver.descent", "COARSE", (8e-5, 2**16), "a fourth of the points at first"),
    Claim(
        "solver.frozen",
        "_PITCH",
        200,
        "the density of the other releases, resolved",
        (5,),
        ("descent",),
    ),
    Limit("solver.frozen", "_MOST_GRID", 100_000, "memory and time of one grid"),
    Limit(
        "solver.schrodinger",
        "_DEPTH",
        60.0,
        "how far a Schrödinger law falls before its geometric tail, which then has e^-60",
    ),
    Limit("solver.schrodinger", "_MOST_SHELLS", 200_000, "the widest window of such a law"),
    Limit("solver.schrodinger", "_MOST_BISECTIONS", 100, "where its search ends"),
    Limit("solver.schrodinger", "_CLOSE", 1e-12, "how far its cost may miss the budget"),
    Limit("solver.frozen", "_MOST_POINTS", 2**20, "memory and time of one window"),
)

SOLVER: tuple[Claim | Limit, ...] = (
    *NEWTON,
    *STEP,
    *START,
    *PAIRS,
    *STAIRCASE,
    *LINEAR,
    *DESCENT,
)
