"""Wrong versions of the judge, the sampler and the sensitivities: each line of code here protects somebody, and a test must say so.

A mutant is a small change that makes a guarantee wrong, or what is sampled differ from what was judged, in a way that still looks
like an answer. `python -m benchmarks mutants` applies them one by one and runs the named tests, of which one must fail.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`original` stands in `file` (below src/leastnoise) exactly once; `tests` (below tests) are those that should notice."""

    file: str
    original: str
    mutated: str
    breaks: str
    tests: tuple[str, ...]


def _in(file: str, tests: str, *changes: tuple[str, str, str]) -> list[Mutant]:
    return [
        Mutant(file, original, mutated, breaks, tuple(tests.split()))
        for original, mutated, breaks in changes
    ]


MUTANTS: list[Mutant] = [
    *_in(
        "sampling/entropy.py",
        "test_sampling_draws.py",
        (
            "return os.urandom(count)",
            "return os.urandom(1) * count",
            "one byte of entropy for all of a draw",
        ),
        ("self._calls += 1", "self._calls += 0", "two draws from one source are equal"),
    ),
    *_in(
        "sampling/draws.py",
        "test_sampling_draws.py",
        (
            "half_pitches -= (1 << FINE_BITS) - 1",
            "half_pitches -= 1 << FINE_BITS",
            "noise is shifted, outputs betray the answer's place",
        ),
        (
            "(scaled - floor >= 0.5)",
            "(scaled - floor > 0.5)",
            "halves of float64 are rounded otherwise than other numbers",
        ),
        (
            "(2 * p * pitch.denominator + q * pitch.numerator)",
            "(2 * p * pitch.denominator)",
            "answers are cut off, not rounded",
        ),
        (
            "places = np.asarray(places * 2)  # half pitches",
            "places = np.asarray(places)",
            "answers count half",
        ),
        (
            "signed = [*half[::-1], weights.weights[0], *half]",
            "signed = [*half, weights.weights[0], *half]",
            "the law is not symmetric",
        ),
        (
            "if integer_weights(law) is None:\n        raise",
            "if law.dimension == 0:\n        raise",
            "unrounded laws are released",
        ),
        (
            "else public_pitch(noise.step, noise.domain) / 2",
            "else public_pitch(noise.step, noise.domain)",
            "outputs are told in the wrong unit",
        ),
        (
            "chunk = max(_CHUNK // d, 1024)",
            "chunk = max(_CHUNK // d, 1024) + total",
            "memory grows with the number of draws",
        ),
    ),
    *_in(
        "sampling/tables.py",
        "test_sampling_tables.py",
        (
            "second = high > last",
            "second = high >= last",
            "one unit of each column changes its outcome",
        ),
        (
            "second |= (high == last) & (words(entropy, count) > self",
            "second |= (high == last) & (words(entropy, count) >= self",
            "one unit of 2^128 changes its outcome",
        ),
        (
            "left[donor] -= height - left[j]",
            "left[donor] -= left[j]",
            "the alias table is another law",
        ),
        (
            "cut[j] - 1 for j in range(columns)]",
            "cut[j] for j in range(columns)]",
            "every column's first outcome has a unit too many",
        ),
        (
            "sizes = (2 * k + 1) - 2 * before",
            "sizes = (2 * k + 1) - before",
            "points of a shell are not uniform, some lie outside",
        ),
        (
            "tied |= drawn == boundary",
            "tied &= drawn == boundary",
            "ties with a boundary are decided by 64 bits",
        ),
        (
            "inner**j * outer ** (dimension - j)",
            "inner**j * outer ** (dimension - j - 1)",
            "the first face has another law",
        ),
        (
            "while rest < _WORD % size:",
            "while rest < _WORD % size - 1:",
            "a uniform integer is biased by one word",
        ),
        (
            "value += (drawn >> half) * n",
            "value |= (drawn >> half) * n",
            "products lose their carry",
        ),
        (
            "sign = 2 * values[face, vector] - 1",
            "sign = values[face, vector]",
            "half the points of a face fall to zero",
        ),
    ),
    *_in(
        "sampling/weights.py",
        "test_sampling_weights.py",
        (
            "<= 0.5 * tail)) + shift",
            "<= 0.5 * tail))",
            "the support ends where a shift still carries mass out of it",
        ),
        (
            "return 2 if dimension == 1 else 1",
            "return 1",
            "odd weights: the points ±k lose half a unit",
        ),
        (
            "if after <= before * (1.0 + tolerance):",
            "if after <= before * (1.1 + tolerance):",
            "rounding may cost 10 % of epsilon",
        ),
        (
            "rounded(law, width, _TAIL_SHARE * delta / n, m)",
            "rounded(law, width, _TAIL_SHARE * delta, m)",
            "the tail's share of delta is taken n times",
        ),
        (
            "weights[k] = max(weights[k], _digits_up(",
            "weights[k] = min(weights[k], _digits_up(",
            "joint laws rise after rounding, the corner is no longer the worst shift",
        ),
        (
            "if sum(weights) == scale else None",
            "if sum(weights) <= scale else None",
            "weights that are no law are taken for one",
        ),
        (
            "if counts is None or k == held[0]:\n            return total",
            "if counts is not None or k == held[0]:\n            return total",
            "the receiving shell may rise above its neighbour",
        ),
        (
            "if noise.tail_ratio is not None:\n        return None\n    ratios",
            "if noise.dimension == 0:\n        return None\n    ratios",
            "a law with a tail counts as exact",
        ),
    ),
    *_in(
        "sampling/ball.py",
        "test_ball.py",
        (
            "(reach + 4.0) * 2.0**-41",
            "(reach + 4.0) * 2.0**-61",
            "floating point decides roundings it cannot know",
        ),
        (
            "radius = np.sqrt(2.0 * minus_log[:, :pairs])",
            "radius = np.sqrt(minus_log[:, :pairs])",
            "the noise is too small by √2",
        ),
        (
            "if floors == [math.floor(place + Fraction(1, 2) + error) for place in places]:",
            "if floors == [math.floor(place + Fraction(1, 2) - error) for place in places]:",
            "roundings within the error are decided",
        ),
        (
            "def factors(self) -> int:\n        return (self.dimension + 1) // 2",
            "def factors(self) -> int:\n        return self.dimension // 2",
            "the radius has one degree of freedom less",
        ),
        ("places += 0.5", "places += 0.0", "the noise is cut off, not rounded"),
        (
            "angles = [value << bits - have_angle | _more",
            "angles = [value << bits - have_angle & _more",
            "the bits of an angle are lost when it is refined",
        ),
    ),
    *_in(
        "releases/sensitivity.py",
        "releases/test_plan.py releases/test_plan_fuzz.py releases/test_table.py",
        (
            "return min(0, limit.rows_in_group * a), max",
            "return min(0, a), max",
            "a person's rows of negative values count once",
        ),
        ("max(0, limit.rows_in_group * b)", "max(0, b)", "a person's rows count once"),
        (
            "if limit.exactly and not answer.may_be_absent:",
            "if limit.exactly:",
            "a row whose value is missing is forgotten",
        ),
        (
            'if relation == "add/remove" else high - low',
            'if relation == "add/remove" else max(abs(low), abs(high))',
            "replaced rows count as added ones",
        ),
        (
            'touched = 1 if plan.relation == "add/remove" else min(2, count)',
            "touched = 1",
            "who is replaced leaves one check and enters none",
        ),
        (
            "return max(abs(low), abs(high)) if",
            "return abs(high) if",
            "negative contributions are forgotten",
        ),
        (
            "0 if other is None else sensitivity(other, limit, plan.relation)",
            "0 if other is None else 1",
            "rows with other keys count as persons",
        ),
        (
            'plan.relation == "add/remove" or 2 * limit.groups <= every,',
            "True,",
            "who is replaced leaves all groups and enters that of other keys for nothing",
        ),
        (
            "min(2 * limit.groups, every)",
            "min(limit.groups, every)",
            "replacing touches the groups left, not those entered",
        ),
        (
            "min(int(plan.groups_per_person or 1), rows, len(groups(group_by)))",
            "1",
            "a person is taken to be in one group",
        ),
        (
            "in_group = min(rows, int(plan.rows_per_group or rows))",
            "in_group = 1",
            "a person is taken to have one row in a group",
        ),
        (
            'if self.measure == "centred" else self.half_range**2',
            'if self.measure == "centred" else self.half_range',
            "squares count as values",
        ),
        ('"square": pitch**2 / 8', '"square": pitch**2 / 16', "squares are told in the wrong unit"),
        (
            "if largest * plan.max_rows >= LARGEST_SUM:",
            "if largest >= LARGEST_SUM:",
            "sums may overflow and jump",
        ),
        (
            "return Bounds(1, 1, 1, exactly=not group_by)",
            "return Bounds(1, 1, 1, exactly=True)",
            "who changes the group is forgotten",
        ),
        (
            'if answer.measure == "persons":\n        return 0, 1',
            'if answer.measure == "persons":\n        return 0, 0',
            "persons cost nothing",
        ),
        (
            "return self.values.first, self.values.last",
            "return 0, self.values.last",
            "sums of negative values",
        ),
        (
            'if plan.relation != "add/remove" or not plain or',
            "if not plain or",
            "sums are merged where persons are replaced",
        ),
    ),
    *_in(
        "releases/accounting.py",
        "releases/test_ledger_accounting.py interop/test_foreign_in_ledger.py",
        (
            "max(kept.largest, 0.0) + rounding",
            "max(kept.largest, 0.0)",
            "the largest loss is not rounded up",
        ),
        (
            "(kept.infinite + _for_deviation(kept.deviation, budget.epsilon))",
            "kept.infinite",
            "filled centres are not charged to delta",
        ),
        ("(kept.infinite + _for", "(0.0 + _for", "failures are not charged to delta"),
        (
            "if not total.failure <= FAILURES * budget.delta:",
            "if not total.failure <= budget.delta:",
            "failures may use delta twice",
        ),
        (
            "math.log(budget.delta) + math.log1p(-FAILURES)",
            "math.log(budget.delta)",
            "the share for failures is spent twice",
        ),
        (
            "(self.largest + other.largest) * up",
            "max(self.largest, other.largest) * up",
            "largest losses do not add up",
        ),
        (
            "Charge(tuple(many * value for value in self.renyi), many",
            "Charge(tuple(value for value in self.renyi), many",
            "a law used often is charged once",
        ),
        (
            "dropped = int(np.count_nonzero((above <= spare)",
            "dropped = int(np.count_nonzero((above <= 2.0 * spare)",
            "more is trimmed than is spare",
        ),
        (
            "infinite = (loss.infinite + float(above[dropped - 1]))",
            "infinite = (loss.infinite + 0.0 * float(above[dropped - 1]))",
            "trimmed losses vanish",
        ),
        (
            "known = max(known, moment",
            "known = min(known, moment",
            "what another library left out is not charged",
        ),
        (
            "if math.fsum(weights) > 1.0:",
            "if math.fsum(weights) > 2.0:",
            "filters that share more than delta",
        ),
        (
            "rates * (loss - renyi)",
            "rates * (loss + renyi)",
            "divergences are credited, not charged",
        ),
        (
            "np.exp(np.minimum(log_weights + log_delta + rates",
            "np.exp(np.minimum(log_delta + rates",
            "every order has all of delta",
        ),
        (
            "tuple((a + b) * up for a, b",
            "tuple(max(a, b) * up for a, b",
            "divergences do not add up",
        ),
        (
            "highest = total.largest\n",
            "highest = 0.5 * total.largest\n",
            "losses above half the largest are forgotten",
        ),
    ),
    *_in(
        "privacy/renyi.py",
        "privacy/test_renyi.py privacy/test_edges.py",
        (
            "if table.infinite > 0 or table.deviation > 0:",
            "if table.deviation > 0:",
            "mass off the support is forgotten",
        ),
        (
            "return max(table_divergence(table, order) for",
            "return min(table_divergence(table, order) for",
            "the best shift instead of the worst",
        ),
        (
            "+ (a * a + a + 1.0) * near**2 / 12.0",
            "- (a * a + a + 1.0) * near**2 / 12.0",
            "small losses are valued too low",
        ),
        (
            "divergence + math.log((order - 1.0) / order) - (",
            "divergence + 2.0 * math.log((order - 1.0) / order) - (",
            "the conversion gives too small an epsilon",
        ),
        (
            "return order * 0.5 * loss.mu**2",
            "return order * 0.25 * loss.mu**2",
            "Gaussian noise at half its divergence",
        ),
        (
            "epsilon_from_renyi(n * loss_divergence",
            "epsilon_from_renyi(loss_divergence",
            "releases are not added up",
        ),
        (
            "first = math.log(order / (2.0 * order - 1.0)) + (order - 1.0) * ratio",
            "first = math.log(order / (2.0 * order - 1.0)) + (order - 2.0) * ratio",
            "Laplace noise at too small a divergence",
        ),
        (
            "min(classic, improved + rounding)",
            "min(classic, improved - rounding)",
            "conversions are rounded down",
        ),
        (
            "return table.largest * (1.0 + _ROUNDING)",
            "return table.largest * (1.0 - 1e-9)",
            "pure privacy is rounded down",
        ),
    ),
    *_in(
        "privacy/ball.py",
        "privacy/test_small_print.py privacy/test_ball.py test_steps.py",
        ("p[-1] *= 2.0", "p[-1] *= 1.0", "half the mass at loss 0 is forgotten"),
        (
            "half = float(ratio) * math.sqrt(noise.dimension) if",
            "half = float(ratio) if",
            "the cube's corner is taken to be as near as its face",
        ),
        (
            "math.ceil(Fraction(sensitivity) / pitch)",
            "math.floor(Fraction(sensitivity) / pitch)",
            "sensitivities are rounded down to the lattice",
        ),
        (
            "return (self.dimension - 1.0) / a * ratio",
            "return (self.dimension - 2.0) / a * ratio",
            "the density of the loss is another",
        ),
        (
            "-math.expm1(epsilon) + math.exp(epsilon) * self._delta",
            "math.exp(epsilon) * self._delta",
            "negative epsilon at too small a delta",
        ),
        (
            "np.add.at(p, cell, up + error)",
            "np.add.at(p, cell, down + error)",
            "cells give their mass to the wrong end",
        ),
        (
            "np.concatenate([log_p - size, log_p, [rest]])",
            "np.concatenate([log_p, log_p, [rest]])",
            "the moments of the mirrored half",
        ),
        (
            "part = np.clip(width - above, 0.0, width)",
            "part = np.clip(above, 0.0, width)",
            "losses are rounded down",
        ),
        (
            "return max(value - error - faint, 0.0) * (1.0 - _ROUNDING)",
            "return (value + error) * (1.0 + 1e-9)",
            "the lower bound is none",
        ),
        (
            "both = weight * np.exp(shape - top) * (1.0 + np.exp",
            "both = weight * np.exp(shape - top) * (2.0 + np.exp",
            "the law's total is too large",
        ),
        (
            "if not 1e-150 < half < 1e4:",
            "if not 1e-150 < half < 1e9:",
            "losses beyond the proof are judged",
        ),
    ),
    *_in(
        "overlap.py",
        "test_overlap.py privacy/test_worst_shift.py",
        (
            "2.0 * np.minimum(i, j)[edge] + 1.0",
            "2.0 * np.minimum(i, j)[edge]",
            "edges of the overlap are miscounted",
        ),
        (
            "side = (i + j - shift + 1)[~edge]",
            "side = (i + j - shift + 2)[~edge]",
            "the overlap is a row too wide",
        ),
        (
            "inside[1:, 1:] - inside[:-1, 1:] -",
            "inside[1:, 1:] + inside[:-1, 1:] -",
            "pairs of any shift are miscounted",
        ),
        (
            "combinations_with_replacement(range(shift + 1), dimension)",
            "combinations_with_replacement(range(shift), dimension)",
            "the farthest shifts are not looked at",
        ),
        (
            "x = np.arange(shift - last, last + 1)",
            "x = np.arange(shift - last + 1, last + 1)",
            "one point of the overlap is forgotten",
        ),
        (
            "np.log1p(-(2.0 ** (1.0 - dimension)))",
            "np.log1p(-(2.0 ** (2.0 - dimension)))",
            "overlaps of two rows are miscounted",
        ),
        ("few = one_less < 0.3", "few = one_less < 3.0", "counts in which the difference cancels"),
    ),
    *_in(
        "shells.py",
        "test_shells.py",
        (
            "inner = -np.expm1(dimension * np.log1p(-2.0 / side))\n    return",
            "inner = -np.expm1(dimension * np.log1p(-1.0 / side))\n    return",
            "shells are miscounted",
        ),
        (
            "2.0 / (side * -np.expm1",
            "1.0 / (side * -np.expm1",
            "a coordinate lies on its face half as often",
        ),
        ("_LAST_TERM = 1e-20", "_LAST_TERM = 1e-9", "tails are cut off where they still count"),
        ("- log_shell_count(dimension, last)\n", "\n", "a tail does not start at its shell's mass"),
    ),
    *_in(
        "lattice.py",
        "test_lattice.py privacy/test_small_print.py",
        (
            "8.0 * np.finfo(np.float64).eps * (1.0 + size)",
            "8e6 * np.finfo(np.float64).eps * (1.0 + size)",
            "laws that rise count as falling: the worst shift is missed",
        ),
        (
            "h = np.where(k == 0, 2.0, 1.0) * self.shell_masses",
            "h = np.where(k == 0, 4.0, 1.0) * self.shell_masses",
            "a dip at the centre is not seen",
        ),
        (
            "log_h + (k - inner) * math.log(self.tail_ratio), log_h)",
            "log_h + (k - inner - 1) * math.log(self.tail_ratio), log_h)",
            "the tail is a step too high",
        ),
        (
            "return (2.0 if last == 0 else 1.0) * ratio / (1.0 - ratio)",
            "return ratio / (1.0 - ratio)",
            "a tail that starts at the centre has one side",
        ),
    ),
    *_in(
        "steps.py",
        "test_steps.py",
        (
            "return math.ceil(math.ldexp(mantissa, _BITS))",
            "return math.floor(math.ldexp(mantissa, _BITS))",
            "steps fall short of the sensitivity",
        ),
        (
            "_MARGIN = Fraction(1, 1 << 30)",
            "_MARGIN = Fraction(0)",
            "callers who round are further apart than was judged",
        ),
        (
            "m = math.ceil(exact / wide)",
            "m = round(exact / wide)",
            "a sensitivity above the steps is judged as less",
        ),
        (
            "exact_step(step) / PLACES",
            "Fraction(step) / PLACES",
            "the sampler's step is not the judge's",
        ),
        (
            "if Fraction(step) < wanted:",
            "if Fraction(step) < 0:",
            "a step that was rounded to the nearest falls short",
        ),
    ),
    *_in(
        "privacy/tables.py",
        "privacy/test_small_print.py "
        "privacy/test_enclosure.py privacy/test_worst_shift.py privacy/test_attacks.py privacy/test_composition.py",
        (
            "shifts = (shift,) if noise.is_monotone else range(1, shift + 1)",
            "shifts = (shift,)",
            "laws that rise are judged at one shift",
        ),
        (
            "slope = -t * math.log(noise.tail_ratio)",
            "slope = -(t - 1) * math.log(noise.tail_ratio)",
            "the loss in the tail is a step too small",
        ),
        (
            "float(np.sum(np.exp(log_h[pairs.i][lost])))",
            "0.0",
            "mass that leaves the support is forgotten",
        ),
        (
            "infinite = min(table.infinite * (1.0 + deviation) + deviation, 1.0)",
            "infinite = table.infinite",
            "filled centres are not charged",
        ),
        (
            "float(here) * rho / (1.0 - rho)",
            "0.0 * float(here)",
            "the mass beyond the listed shells is forgotten",
        ),
        (
            "if deviation < _LARGEST_DEVIATION and is_non_increasing(filled):",
            "if is_non_increasing(filled):",
            "any centre may be filled",
        ),
        (
            "loss, log_p = np.append(loss, largest), np.append(log_p, math.log(rest))",
            "loss, log_p = np.append(loss, 0.0), np.append(log_p, math.log(rest))",
            "lumped mass is put at too small a loss",
        ),
    ),
    *_in(
        "privacy/single.py",
        "privacy/test_small_print.py "
        "privacy/test_single.py privacy/test_edges.py privacy/test_enclosure.py privacy/test_composition.py",
        (
            "finite * (1.0 + self._sum_rounding) + some + self.infinite",
            "finite * (1.0 + self._sum_rounding) + some + 0.0",
            "unbounded losses are forgotten",
        ),
        (
            "np.maximum.reduce([table.profile(epsilon) for",
            "np.minimum.reduce([table.profile(epsilon) for",
            "the best shift instead of the worst",
        ),
        (
            "min((self.infinite + other.infinite - self.infinite * other.infinite) * (1.0 + 4.0 * ULP), 1.0),",
            "max(self.infinite, other.infinite),",
            "unbounded losses do not add up",
        ),
        (
            "infinite=min(self.infinite + removed, 1.0),",
            "infinite=self.infinite,",
            "losses set aside are forgotten",
        ),
        (
            "raised=self.raised + removed,",
            "raised=self.raised,",
            "lower bounds count losses set aside as infinite",
        ),
        (
            "return min(mass * (1.0 + mass_error + ULP * (terms + 4)) + SMALLEST * terms, 1.0)",
            "return min(mass * (1.0 - mass_error), 1.0)",
            "the mass of unbounded loss is rounded down",
        ),
        (
            "(1.0 - self._sum_rounding) - self.raised * (1.0 + 1e-9)",
            "(1.0 - self._sum_rounding)",
            "the lower bound counts raised losses",
        ),
        (
            "p[-1] += self._mass_above_as_atom(top)",
            "p[-1] += 0.0",
            "losses above the grid are forgotten",
        ),
        (
            "return np.asarray(0.5 * (first - second))",
            "return np.asarray(0.5 * (first - 1.01 * second))",
            "the profile of Gaussian noise is too low",
        ),
    ),
    *_in(
        "privacy/compose.py",
        "privacy/test_small_print.py "
        "privacy/test_edges.py privacy/test_enclosure.py privacy/test_attacks.py privacy/test_composition.py",
        (
            "total = (value + error + beyond) * (1.0 + rounding)",
            "total = (value + error) * (1.0 + rounding)",
            "what lies above the window is forgotten",
        ),
        (
            "total = (value - error - self.lost_above - self._wrapped(at))",
            "total = (value + error)",
            "the lower bound is none",
        ),
        (
            "up = -np.expm1(-part) / whole\n        down",
            "up = np.expm1(part - pitch) / -whole\n        down",
            "losses are rounded down to the grid",
        ),
        (
            "truncated = sum(count * max(table.infinite",
            "truncated = 0.0 * sum(count * max(table.infinite",
            "cut-off losses are forgotten",
        ),
        (
            "return math.exp(min(min(exponents), 0.0))",
            "return 0.0 * math.exp(min(min(exponents), 0.0))",
            "the window is taken to hold everything",
        ),
        ("_WRAP = 27.0", "_WRAP = 2.0", "the window wraps an eighth of the mass"),
        (
            "error = self.point_error * self._weight_above() + 4.0 * ULP * size * value",
            "error = 0.0",
            "the error of the transform is forgotten",
        ),
        (
            "kink = coarser * max(_KINK * epsilon,",
            "kink = coarser * max(_KINK + epsilon,",
            "kinks of the profile are moved by a coarse pitch",
        ),
    ),
    *_in(
        "privacy/loss.py",
        "privacy/test_small_print.py "
        "privacy/test_edges.py privacy/test_enclosure.py privacy/test_attacks.py privacy/test_composition.py",
        ("budget = delta - self._infinite", "budget = delta", "unbounded losses are not charged"),
        ("allowed = budget - truncated", "allowed = budget", "cut-off losses are not charged"),
        (
            "squares.append(count * loss.mu**2)",
            "squares.append(loss.mu**2)",
            "Gaussian releases are counted once",
        ),
        (
            "sum(count * math.log1p(-loss.infinite) for loss, count in self.parts)",
            "sum(math.log1p(-loss.infinite) for loss, count in self.parts)",
            "unbounded losses of one release",
        ),
        (
            "return high\n\n\ndef _surely_infinite",
            "return low\n\n\ndef _surely_infinite",
            "the epsilon returned does not hold",
        ),
        ("value - given_up - n * _RAISED - raised", "value + given_up", "the lower bound is none"),
        (
            "total = sum(count * max(loss.largest, 0.0) for",
            "total = sum(max(loss.largest, 0.0) for",
            "the largest total loss of one release",
        ),
    ),
]
