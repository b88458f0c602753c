"""Wrong versions of the judge, the sampler, the sensitivities and the series: each line of code
here protects somebody, and a test must say so.

A mutant is a small change that makes a guarantee wrong, or what is sampled differ from what was
judged, in a way that still looks like an answer. `python -m benchmarks mutants` applies them one by
one and runs the named tests, of which one must fail.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`original` stands in `file` (below src/leastnoise) exactly once; `tests` (below tests) are
    those that should notice."""

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
        "sampling/test_sampling_draws.py",
        (
            "return os.urandom(count)",
            "return os.urandom(1) * count",
            "one byte of entropy for all of a draw",
        ),
        ("self._calls += 1", "self._calls += 0", "two draws from one source are equal"),
    ),
    *_in(
        "sampling/lattice.py",
        "sampling/test_sampling_draws.py",
        (
            "half_pitches -= (1 << _FINE_BITS) - 1",
            "half_pitches -= 1 << _FINE_BITS",
            "noise is shifted, outputs betray the answer's place",
        ),
        (
            "signed = [*half[::-1], weights.weights[0], *half]",
            "signed = [*half, weights.weights[0], *half]",
            "the law is not symmetric",
        ),
        (
            "else self.pitch / 2",
            "else self.pitch",
            "outputs are told in the wrong unit",
        ),
        (
            "chunk = max(_CHUNK // d, 1024)",
            "chunk = max(_CHUNK // d, 1024) + total",
            "memory grows with the number of draws",
        ),
    ),
    *_in(
        "sampling/draws.py",
        "sampling/test_sampling_draws.py",
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
    ),
    *_in(
        "sampling/draws.py",
        "sampling/test_sampling_draws.py",
        (
            "places = np.asarray(places * units)",
            "places = np.asarray(places)",
            "answers count half",
        ),
        (
            "if not sampler.is_exact:",
            "if sampler.dimension == 0:",
            "unrounded laws are released",
        ),
    ),
    *_in(
        "artefact/exact.py",
        "sampling/test_sampling_weights.py",
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
    ),
    *_in(
        "sampling/alias.py",
        "sampling/test_sampling_tables.py",
        (
            "second = high > last",
            "second = high >= last",
            "one unit of each column changes its outcome",
        ),
        (
            "words(entropy, count) > last_low",
            "words(entropy, count) >= last_low",
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
        "sampling/test_sampling_weights.py",
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
            "if self._counts is None or k == self._held[0]:",
            "if self._counts is not None or k == self._held[0]:",
            "the receiving shell may rise above its neighbour",
        ),
        (
            "return None if law.tail_ratio is not None else weights_of",
            "return None if law.dimension == 0 else weights_of",
            "a law with a tail counts as exact",
        ),
    ),
    *_in(
        "losses/cube_sums.py",
        "accountant/test_cut_cube.py",
        (
            "_FRESNEL = 2.6",
            "_FRESNEL = 2.2",
            "the bound on the transform does not hold",
        ),
        (
            "return 2.0 * (wide + _beyond(steep, d, k1, h1, (2.0 / (_SLOPE * h2), 1.0)))",
            "return 1e-9 * (wide + _beyond(steep, d, k1, h1, (2.0 / (_SLOPE * h2), 1.0)))",
            "frequencies beyond the box are not charged",
        ),
        (
            "return (2.0 if is_bathtub else 1.0) * 0.5 * math.exp(",
            "return 0.5 * 0.5 * math.exp(",
            "the largest density is taken for half of it",
        ),
        (
            "low = np.where(held, scale * (summed - allowed) - alias, 0.0)",
            "low = np.where(held, scale * (1.001 * summed - allowed), 0.0)",
            "the share of the ball is put too high from below",
        ),
    ),
    *_in(
        "laws/lattice.py",
        "laws/test_changes.py",
        (
            "steps = math.ceil(distance / exact_step(self.step))",
            "steps = math.floor(distance / exact_step(self.step))",
            "a length that is no whole number is rounded down",
        ),
    ),
    *_in(
        "losses/cut_cube.py",
        "accountant/test_cut_cube.py",
        (
            "chords = d * part[1:] * (x[:-1] * left + x[1:] * right)",
            "chords = d * part[1:] * (x[1:] * left + x[1:] * right)",
            "J of a cell is taken where it is least",
        ),
        (
            "room = loss.dimension * lam**2 - square * epsilon**2",
            "room = (loss.dimension - 1) * lam**2 - square * epsilon**2",
            "the change of one answer is forgotten",
        ),
        (
            "beyond += cube[-1]",
            "cells = cells - cube[:-1] * (left + right)",
            "leaving through the cube is not counted",
        ),
    ),
    *_in(
        "sampling/cut_cube.py",
        "laws/test_cut_cube.py",
        (
            "inside = squares <= self.square",
            "inside = squares <= 1.02 * self.square",
            "points outside the ball are kept",
        ),
        (
            "if high <= limit or low > limit:",
            "if high <= limit or low >= limit - 10**40:",
            "a point in doubt is turned away without the bits that decide it",
        ),
        (
            "radii = words(entropy, len(kept) * (d + 1)).reshape(len(kept), d + 1)",
            "radii = words(entropy, len(kept) * (d + 1)).reshape(len(kept), d + 1)[:, :d]",
            "the radius has an exponential too few",
        ),
    ),
    *_in(
        "sampling/sphere.py",
        "laws/test_ball.py",
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
            "return 0 if self.is_normal else (self.dimension + 1) // 2",
            "return 0 if self.is_normal else self.dimension // 2",
            "the radius has one degree of freedom less",
        ),
        ("places += 0.5", "places += 0.0", "the noise is cut off, not rounded"),
        (
            "value << bits - have_angle | _more",
            "value << bits - have_angle & _more",
            "the bits of an angle are lost when it is refined",
        ),
    ),
    *_in(
        "lattice/rounded_changes.py",
        "laws/test_changes.py lattice/test_steps.py",
        (
            "math.ceil(high * unit)",
            "math.floor(high * unit)",
            "sensitivities are rounded down to the lattice",
        ),
        (
            "length += length_above(Fraction(answers))",
            "length += 0",
            "rounding the answers does not lengthen a change",
        ),
    ),
    *_in(
        "changes.py",
        "laws/test_changes.py",
        (
            "taken = min(left, ranges[each])",
            "taken = min(left, 1)",
            "one answer of each range counts",
        ),
        (
            "Fraction(root if is_exact else root + 1, scale)",
            "Fraction(root - 1, scale)",
            "lengths are rounded down",
        ),
    ),
    *_in(
        "laws/correlated.py",
        "laws/test_correlated.py",
        (
            "max(j - x * j * j for j in",
            "min(j - x * j * j for j in",
            "the nearest corner stands for the worst",
        ),
        (
            "math.floor(1 / (2 * x))",
            "math.floor(1 / (4 * x))",
            "changes of many answers are forgotten",
        ),
        (
            "return 2 * beta + beta * beta * self._squared_shares",
            "return 2 * beta * self.dimension + beta * beta * self._squared_shares",
            "more is taken to be common than is",
        ),
    ),
    *_in(
        "lattice/longest_change.py",
        "laws/test_unequal_ranges.py",
        (
            "most = max(square * whole - less * along**2",
            "most = min(square * whole - less * along**2",
            "not the longest change of unequal ranges is judged",
        ),
        (
            "max(end * end - 2 * x * c * one * end for end in each)",
            "min(end * end - 2 * x * c * one * end for end in each)",
            "a bound on changes of many kinds is none",
        ),
    ),
    *_in(
        "laws/lifted.py",
        "laws/test_unequal_ranges.py",
        (
            "any(low < least or high > most for",
            "any(high > most for",
            "changes below the range of a tie are accepted",
        ),
    ),
    *_in(
        "laws/lifted.py",
        "laws/test_lifted.py",
        (
            "if ranges is None or any(low < 0 for low, _ in ranges):",
            "if ranges is None:",
            "changes of any signs are judged as one-sided ones",
        ),
        (
            "return unproven_below(self.base.loss(sensitivity))",
            "return self.base.loss(sensitivity)",
            "an upper bound passes for a lower one",
        ),
    ),
    *_in(
        "sampling/lattice.py",
        "laws/test_lifted.py",
        (
            "return (drawn[..., 1:] + drawn[..., :1]) >> 1",
            "return drawn[..., 1:] >> 1",
            "the hidden count has no noise",
        ),
    ),
    *_in(
        "sampling/sphere.py",
        "laws/test_correlated.py",
        (
            "        if common:\n            places",
            "        if False:\n            places",
            "the common part is left out where it is decided exactly",
        ),
        (
            "        if self.common and self.shares is None:\n            places",
            "        if False:\n            places",
            "the common part is left out",
        ),
    ),
    *_in(
        "sampling/sphere.py",
        "laws/test_unequal_ranges.py",
        (
            "places += float(self.common) * g * np.sum(g * places, axis=1, keepdims=True)",
            "places += float(self.common) * np.sum(g * places, axis=1, keepdims=True)",
            "answers do not get their shares of the common part",
        ),
    ),
    *_in(
        "releases/noise/sensitivity.py",
        "releases/test_shape.py",
        (
            'is_apart = plan.relation == "add/remove" and',
            "is_apart =",
            "replaced persons count as one-sided changes",
        ),
        (
            "return _end(low, largest, -math.inf), _end(high, largest, math.inf)",
            "return 0.0, _end(high, largest, math.inf)",
            "values below zero count as one-sided changes",
        ),
    ),
    *_in(
        "releases/noise/sensitivity.py",
        "releases/test_ranges.py",
        (
            "is_inside = found > exactly if way < 0.0 else found < exactly",
            "is_inside = False",
            "the ends of ranges are rounded to nearest, also inwards",
        ),
        (
            "is_free = bool(group_by) or where is not None or plan.may_drop_rows",
            "is_free = bool(group_by) or where is not None or bool(plan.where)",
            "who counts nowhere moves every answer by the lower end of its range",
        ),
    ),
    *_in(
        "releases/noise/sensitivity.py",
        "releases/test_distinct.py",
        (
            "return 0, limit.rows_in_group\n",
            "return 0, 1\n",
            "several values of a person count as one",
        ),
    ),
    *_in(
        "releases/data/queries.py",
        "releases/test_distinct.py",
        (
            "return view if plan.person is None else view.distinct()",
            "return view",
            "rows that repeat a value take the room of others",
        ),
    ),
    *_in(
        "releases/noise/sensitivity.py",
        "releases/test_found_keys.py",
        (
            "every = most_groups(group_by, 2 * limit.groups)",
            "every = len(groups(group_by))",
            "a person who is replaced is seen in one group that is found",
        ),
        (
            "return otherwise if is_discovered(group_by) else len(groups(group_by))",
            "return len(groups(group_by))",
            "one group that may be found is all that a person is in",
        ),
    ),
    *_in(
        "releases/noise/discovery.py",
        "releases/test_found_keys.py",
        (
            "return len(_survival(noise)) // 2\n",
            "return len(_survival(noise)) // 2 - 1\n",
            "a key of one person is shown as if others had it",
        ),
        (
            "log_most = math.log(-math.expm1(math.log1p(-delta) / uses))",
            "log_most = math.log(delta)",
            "every draw that finds keys has all of delta",
        ),
        (
            "rate = epsilon / uses",
            "rate = epsilon",
            "every draw that finds keys has all of epsilon",
        ),
    ),
    *_in(
        "releases/release.py",
        "releases/test_found_keys.py",
        (
            "for label, number in sorted(largest)}",
            "for label, number in largest}",
            "found keys are listed by their sizes",
        ),
    ),
    *_in(
        "releases/noise/sensitivity.py",
        "releases/test_filters.py",
        (
            "is_free = bool(group_by) or where is not None or plan.may_drop_rows",
            "is_free = bool(group_by) or plan.may_drop_rows",
            "a row that a statistic does not keep is taken to add to it",
        ),
    ),
    *_in(
        "releases/plan/plan.py",
        "releases/test_filters.py",
        (
            "return bool(self.complete_keys) or bool(self.where)",
            "return bool(self.complete_keys)",
            "a row that the plan does not count is taken to count",
        ),
    ),
    *_in(
        "releases/data/formulas.py",
        "releases/test_formula.py",
        (
            "cases = ((x.abs() < least, self.number(0)), (x.abs() <= largest, x))",
            "cases = ((x.abs() >= least * 0.0, x),)",
            "numbers beyond all range reach the engine's arithmetic",
        ),
        (
            "return ibis.coalesce(compiled(ibis, table, known), ibis.literal(False))",
            "return ibis.coalesce(compiled(ibis, table, known), ibis.literal(True))",
            "who has no value is counted among those who have the condition",
        ),
    ),
    *_in(
        "releases/data/queries.py",
        "releases/test_filters.py",
        (
            "source = source.filter(holds(ibis, plan, table, block.where))",
            "source = source.filter(holds(ibis, plan, table, block.where).notnull())",
            "a statistic of some rows is of all",
        ),
    ),
    *_in(
        "releases/noise/layout.py",
        "releases/test_shape.py",
        (
            "sum(sorted(sizes.values(), reverse=True)[: block.touched])",
            "sum(sorted(sizes.values(), reverse=True)[:1])",
            "one group of each grouping is touched",
        ),
    ),
    *_in(
        "ledger/reader.py",
        "ledger/test_changes_in_ledger.py",
        (
            'if relation not in ("", ADD_OR_REMOVE):',
            "if False:",
            "one-sided noise is spent for replaced persons",
        ),
    ),
    *_in(
        "releases/noise/sensitivity.py",
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
            "is_added or 2 * limit.groups <= every,",
            "True,",
            "who is replaced leaves all groups and enters that of other keys for nothing",
        ),
        (
            "min(2 * limit.groups, every)",
            "min(limit.groups, every)",
            "replacing touches the groups left, not those entered",
        ),
        (
            "min(int(plan.groups_per_person or 1), rows, most_groups(group_by, rows))",
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
            "is_free = bool(group_by) or where is not None or plan.may_drop_rows",
            "is_free = where is not None",
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
            'if plan.relation != "add/remove" or not is_plain or',
            "if not is_plain or",
            "sums are merged where persons are replaced",
        ),
    ),
    *_in(
        "releases/noise/sensitivity.py",
        "releases/test_margins.py",
        (
            "is_free = bool(group_by) or where is not None or plan.may_drop_rows",
            "is_free = bool(group_by) or where is not None",
            "a row that counts nowhere is taken to count",
        ),
        (
            "is_free = bool(keys) or bool(about.within) or like.where is not None",
            "is_free = bool(keys) or like.where is not None",
            "the total of a table that rows may be outside of is public",
        ),
        (
            "touched=2 if is_replaced and has_several else 1",
            "touched=1",
            "who is replaced leaves a cell of a marginal and enters none",
        ),
        (
            'is_free = plan.relation == "add/remove" or first.touched > 1',
            "is_free = True",
            "who leaves a table enters the cell outside of it for nothing",
        ),
    ),
    *_in(
        "releases/tables/residuals.py",
        "releases/test_residual_draws.py",
        (
            "share * max((square / Fraction(scale) ** 2 for",
            "share * min((square / Fraction(scale) ** 2 for",
            "the length of residuals is that of the contrast that moves least",
        ),
        (
            "share = math.prod((Fraction(size - 1, size) for size in sizes)",
            "share = math.prod((Fraction(size - 1, size + 1) for size in sizes)",
            "a person moves residuals by less than one cell does",
        ),
    ),
    *_in(
        "releases/noise/layout.py",
        "releases/test_residual_draws.py",
        (
            "return len(block.answers) * squared_reach(block.sizes, scales)",
            "return squared_reach(block.sizes, scales)",
            "of several answers of a cell one is hidden",
        ),
        (
            "while Fraction(root) ** 2 < squared:",
            "while Fraction(root) ** 2 < squared * Fraction(99, 100):",
            "a length is rounded down",
        ),
    ),
    *_in(
        "releases/noise/spreads.py",
        "releases/test_spread_rows.py",
        (
            "total = twice * rows * -(-worth // unit)",
            "total = rows * -(-worth // unit)",
            "who is replaced takes rows along and brings none",
        ),
        (
            "most = change.largest * (b - a if is_replaced else max(-a, b))",
            "most = view.rows_in_cell * (b - a if is_replaced else max(-a, b))",
            "the cells of a margin hold no more rows than a fine one",
        ),
    ),
    *_in(
        "releases/noise/layout.py",
        "releases/test_spread_rows.py",
        (
            "shifts.update(dict(found.shifts))",
            "shifts |= Counter(dict(found.shifts))",
            "of two marginals with one law one is not charged",
        ),
    ),
    *_in(
        "releases/noise/mechanism.py",
        "releases/test_spread_rows.py",
        (
            "if law.shifts and not is_log_concave(law.noise):",
            "if law.shifts and law.noise.dimension > 1:",
            "a staircase is drawn for rows that are spread",
        ),
    ),
    *_in(
        "releases/data/queries.py",
        "releases/test_spread_rows.py",
        (
            "return view.filter(view.ln_turn < bounds.rows), keys, values",
            "return view.filter(view.ln_turn <= bounds.rows), keys, values",
            "one row more of each person is kept in the one view",
        ),
    ),
    *_in(
        "releases/noise/one_view.py",
        "releases/test_one_view.py",
        (
            "    if is_log_concave(noise):",
            "    if True:",
            "a staircase is judged by the concentrated change",
        ),
        (
            "largest = min(rows, each * min(fine, cells // marginal_cells))",
            "largest = min(rows, each)",
            "a cell of a marginal is taken for a fine one",
        ),
        (
            "whole = total if marginal_cells == 1 else 2 * total",
            "whole = total",
            "who is replaced leaves cells and enters none",
        ),
    ),
    *_in(
        "releases/tables/reconstruction.py",
        "releases/test_tables.py",
        (
            "scale = weight / cells(sizes, without(marginal, part))",
            "scale = weight",
            "a residual is weighed by its cells, not by its precision",
        ),
    ),
    *_in(
        "releases/tables/intervals.py",
        "releases/test_tables.py",
        (
            "return std * (high + _REACH * _SMOOTH)",
            "return std * (high - _REACH * _SMOOTH)",
            "what the added noise hides is taken off the half-width",
        ),
    ),
    *_in(
        "ledger/budget.py",
        "ledger/test_filter.py",
        (
            "if math.fsum(weights) > 1.0:",
            "if math.fsum(weights) > 2.0:",
            "filters that share more than delta",
        ),
    ),
    *_in(
        "ledger/advantage.py",
        "ledger/test_advantage.py",
        (
            "max(told / (1.0 - APART), self.apart / APART)",
            "max(told, self.apart)",
            "what is set apart may use the whole cap beside the noise",
        ),
        (
            "AsGaussian((self.square + other.square) * _UP,",
            "AsGaussian(max(self.square, other.square) * _UP,",
            "releases do not add up to a cap",
        ),
        (
            "if releases == 1 and is_beyond(total, budget):",
            "if is_beyond(total, budget):",
            "laws chosen after looking are composed as if they had been fixed",
        ),
    ),
    *_in(
        "ledger/accounts.py",
        "ledger/test_advantage.py",
        (
            "is_below_cap = cap is None or self.advantage <= cap",
            "is_below_cap = True",
            "a cap refuses nothing",
        ),
    ),
    *_in(
        "releases/noise/mechanism.py",
        "releases/test_capped.py",
        (
            "if cost <= epsilon and (cap is None or composed_advantage(laws) <= cap):",
            "if cost <= epsilon:",
            "integer weights may pass the cap of a plan",
        ),
    ),
    *_in(
        "releases/noise/bodies.py",
        "releases/test_capped.py",
        (
            "uses=spec.uses * draws,",
            "uses=spec.uses,",
            "a person is seen in one of the smaller draws",
        ),
    ),
    *_in(
        "ledger/filter.py",
        "ledger/test_filter.py interop/test_foreign_in_ledger.py",
        (
            "max(kept.largest, 0.0) + rounding",
            "max(kept.largest, 0.0)",
            "the largest loss is not rounded up",
        ),
        (
            "kept.infinite + _for_deviation(kept.deviation, budget.epsilon)",
            "kept.infinite",
            "filled centres are not charged to delta",
        ),
        ("kept.infinite + _for", "0.0 + _for", "failures are not charged to delta"),
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
            "tuple(many * value for value in self.renyi), many",
            "tuple(value for value in self.renyi), many",
            "a law used often is charged once",
        ),
        (
            "dropped = int(np.count_nonzero((above <= spare)",
            "dropped = int(np.count_nonzero((above <= 2.0 * spare)",
            "more is trimmed than is spare",
        ),
        (
            "infinite=(table.infinite + float(above[dropped - 1]))",
            "infinite=(table.infinite + 0.0 * float(above[dropped - 1]))",
            "trimmed losses vanish",
        ),
        (
            "known = max(known, moment",
            "known = min(known, moment",
            "what another library left out is not charged",
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
        "losses/sphere.py",
        "accountant/test_small_print.py accountant/test_ball.py lattice/test_steps.py",
        ("p[-1] *= 2.0", "p[-1] *= 1.0", "half the mass at loss 0 is forgotten"),
        (
            "half = math.sqrt(ratio) if",
            "half = math.sqrt(ratio) / 2 if",
            "the worst shift is taken to be half as long",
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
            "weight * np.exp(shape - top) * (1.0 + mirrored)",
            "weight * np.exp(shape - top) * (2.0 + mirrored)",
            "the law's total is too large",
        ),
        (
            "ratio < 1e8 else math.inf * bool(ratio)\n    if not 1e-150 < half < 1e4:",
            "ratio < 1e18 else math.inf * bool(ratio)\n    if not 1e-150 < half < 1e9:",
            "losses beyond the proof are judged",
        ),
    ),
    *_in(
        "lattice/overlap.py",
        "lattice/test_overlap.py accountant/test_worst_shift.py",
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
        "lattice/shells.py",
        "lattice/test_shells.py",
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
        "lattice/bodies/overlap.py",
        "lattice/test_bodies.py accountant/test_norm_losses.py",
        (
            "return min(touched, (dimension + 1) // 2)",
            "return 1",
            "the shift of one answer is judged, and others are worse",
        ),
        ("one[u + m] * other[u] + one[u]", "one[u] * other[u] + one[u]", "overlaps are miscounted"),
        (
            "strict=True)):\n                return False",
            "strict=True)):\n                return True",
            "a shift that is worse is not found",
        ),
    ),
    *_in(
        "lattice/bodies/range.py",
        "lattice/test_bodies.py accountant/test_norm_losses.py",
        ("all(low >= Fraction(0)", "all(low >= Fraction(-1)", "changes of any signs are accepted"),
        (
            "powers[t + 1] - 2 * powers[t] + inner[t]",
            "powers[t + 1] - powers[t]",
            "shells are miscounted",
        ),
    ),
    *_in(
        "lattice/bodies/touched.py",
        "lattice/test_bodies.py",
        (
            "if changes.touched_of(self.dimension) > self.touched:",
            "if False:",
            "more answers move than the norm is made for",
        ),
        (
            "-(-sum(sizes) // self.touched)",
            "sum(sizes) // self.touched",
            "the norm is rounded down",
        ),
    ),
    *_in(
        "lattice/bodies/count.py",
        "lattice/test_bodies.py",
        (
            "if is_one_sided(changes, self.dimension) and is_few:",
            "if is_few:",
            "changes of any signs are accepted",
        ),
    ),
    *_in(
        "losses/norm.py",
        "accountant/test_norm_losses.py",
        (
            "falls = log_h[:-shift] - log_h[shift:]",
            "falls = log_h[:-1] - log_h[1:]",
            "several steps are judged as one",
        ),
        (
            "noise.shell_masses[max(noise.last - shift + 1, 0) :]",
            "noise.shell_masses[noise.last + 1 :]",
            "what leaves the support is not charged",
        ),
        ("raised=_NOTHING_KNOWN", "raised=0.0", "a lower bound that nobody proved"),
    ),
    *_in(
        "sampling/range_points.py",
        "sampling/test_norm_draws.py",
        (
            "ends = 2 * ((t + 1) ** (left - 1) - t ** (left - 1))",
            "ends = (t + 1) ** (left - 1) - t ** (left - 1)",
            "points of a shell are not as likely",
        ),
        ("other = np.where(top_first, 0, t)", "other = t", "a shell is never closed from below"),
    ),
    *_in(
        "sampling/capped_points.py",
        "sampling/test_norm_draws.py",
        ("> drawn\n", ">= drawn\n", "sizes are one too small"),
        ("if drawn < bound:", "if drawn <= bound:", "a number at its bound is drawn"),
        ("else -size", "else size", "the noise is never negative"),
    ),
    *_in(
        "lattice/steps.py",
        "lattice/test_steps.py",
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
        "losses/lattice.py",
        "accountant/test_small_print.py "
        "accountant/test_enclosure.py accountant/test_worst_shift.py accountant/test_attacks.py "
        "accountant/test_composition.py",
        (
            "if noise.is_monotone or shift == 1:",
            "if shift >= 1:",
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
            "infinite=min(table.infinite * (1.0 + deviation) + deviation, 1.0),",
            "infinite=table.infinite,",
            "filled centres are not charged",
        ),
        (
            "float(here) * rho / (1.0 - rho)",
            "0.0 * float(here)",
            "the mass beyond the listed shells is forgotten",
        ),
        (
            "if deviation < LARGEST_DEVIATION and is_non_increasing(filled):",
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
        "accountant/curve.py",
        "accountant/test_curve.py",
        (
            "share = np.clip(-np.expm1(np.minimum(epsilon - right, 0.0)) / width, 0.0, 1.0)",
            "share = np.clip((right - epsilon) / np.maximum(right - left, 1e-9), 0, 1) ** 1.3",
            "delta between nodes is below the chord",
        ),
        (
            "return np.asarray(np.minimum(forth, back)",
            "return np.asarray(np.maximum(forth, back)",
            "of two orders the attacker is given the worse",
        ),
        (
            "below = (flat + fall * back.upper[:0:-1]) * (1.0 + _ROUNDING)",
            "below = (flat + fall * forth.upper[:0:-1]) * (1.0 + _ROUNDING)",
            "an asymmetric pair is taken for a symmetric one",
        ),
        (
            "gained = p * float(self.delta(math.log1p(-p) - math.log(p)))",
            "gained = p * float(self.delta(math.log(p) - math.log1p(-p)))",
            "the prior counts the wrong way",
        ),
        (
            "if upper[-1] > 0.0:  # some event has no bound on its odds",
            "if upper[-1] > 1.0:",
            "noise that ends passes for Gaussian noise",
        ),
        (
            "share = -np.expm1(way.nodes[below] - math.log(odds))",
            "share = 1.0",
            "odds rise more often than is said",
        ),
    ),
    *_in(
        "accountant/constraints.py",
        "accountant/test_constraints.py designer/test_capped.py",
        (
            "found = max(_share(loss, *limit) for limit in limits)",
            "found = _share(loss, *limits[0])",
            "only the first of several promises is looked at",
        ),
        (
            "return self.certified <= self.delta",
            "return self.certified <= 1.001 * self.delta",
            "a promise that is missed by a thousandth holds",
        ),
        (
            "if found <= 1.0 and not all(one.holds for one in held(loss, limits)):",
            "if found <= 1.0 and not any(one.holds for one in held(loss, limits)):",
            "one promise that holds is taken for all",
        ),
    ),
    *_in(
        "artefact/artefact.py",
        "files/test_constraints_in_files.py",
        (
            "for one in guarantee.constraints:",
            "for one in guarantee.constraints[:1]:",
            "a law is certified for promises that it does not keep",
        ),
    ),
    *_in(
        "artefact/verification.py",
        "files/test_constraints_in_files.py",
        (
            "        if not ours.holds:",
            "        if False:",
            "a promise in a file is not held against its law",
        ),
    ),
    *_in(
        "losses/bent_sphere.py",
        "laws/test_bent_sphere.py",
        (
            "other = self.mass_beyond(epsilon, upper=not upper, mirrored",
            "other = self.mass_beyond(epsilon, upper=upper, mirrored",
            "what is subtracted is rounded to the wrong side",
        ),
        (
            "gap[open_ones] = (mass + error) * off + rounding",
            "gap[open_ones] = 0.0",
            "how far a cell may be from its chord is not charged",
        ),
        (
            "off[is_smooth] = 0.125 * self.width",
            "off[is_smooth] = 0.0 * self.width",
            "chords are taken for the curve",
        ),
    ),
    *_in(
        "losses/table.py",
        "laws/test_bent_sphere.py",
        (
            "infinite=float(value[-1]),",
            "infinite=0.0,",
            "losses beyond a table are forgotten",
        ),
    ),
    *_in(
        "sampling/bent_sphere.py",
        "laws/test_bent_sphere.py",
        (
            "return Fraction(self.uniforms.freedom, 2 * self.uniforms.dimension)",
            "return Fraction(1, 2)",
            "the radius has another exponent than is judged",
        ),
        (
            "(1.0 + math.sqrt(d)) * 2.0**-43 / length + 2.0**-44",
            "(1.0 + math.sqrt(d)) * 2.0**-83 / length + 2.0**-84",
            "floating point decides roundings it cannot know",
        ),
    ),
    *_in(
        "losses/flat_sphere.py",
        "laws/test_flat_sphere.py",
        (
            "error += np.bincount(place[kept], gap[kept], epsilon.size)",
            "error += 0.0",
            "what the rule of a panel leaves open is not charged",
        ),
        (
            "near = (t - e) / t",
            "near = (t - e) / (t + e)",
            "the plane of two balls is somewhere else",
        ),
        (
            "singular = 0.5 * (self.distance - epsilon)\n        first",
            "singular = 0.25 * (self.distance - epsilon)\n        first",
            "balls that do not meet are said to have something in common",
        ),
    ),
    *_in(
        "sampling/flat_sphere.py",
        "laws/test_flat_sphere.py",
        (
            "return [one * p ** (dimension - k) * q**k for k",
            "return [one * p ** (dimension - k) for k",
            "the terms of the radius have other proportions than are judged",
        ),
        (
            "is_added = np.arange(d + 1) <= order[:, None]",
            "is_added = np.arange(d + 1) < order[:, None]",
            "one exponential is missing from the radius",
        ),
        (
            "(1.0 + math.sqrt(d)) * 2.0**-43 / length + 2.0**-45",
            "(1.0 + math.sqrt(d)) * 2.0**-83 / length + 2.0**-85",
            "floating point decides roundings it cannot know",
        ),
        (
            "while word in limits:",
            "while False:",
            "a term is chosen by fewer bits than decide it",
        ),
    ),
    *_in(
        "laws/part_of_sphere.py",
        "laws/test_part_of_sphere.py",
        (
            "moved = rounded_changes(space, self.dimension, sensitivity, self._pitch)",
            "moved = rounded_changes(space, self.dimension - 1, sensitivity, self._pitch)",
            "one answer less is moved than is shown",
        ),
        (
            "return unproven_below(ball_loss(self.scale, self.of, moved.squared_length))",
            "return ball_loss(self.scale, self.of, moved.squared_length)",
            "what keeping back coordinates hides is claimed to be revealed",
        ),
    ),
    *_in(
        "solver/linear.py",
        "designer/test_capped.py",
        (
            "row -= np.bincount(program.j[inside], program.hide[inside], minlength=program.size)",
            "row -= 0.0",
            "the program takes all that is moved for revealed",
        ),
    ),
    *_in(
        "accountant/at_nodes.py",
        "accountant/test_curve.py",
        (
            "return np.asarray(finite + (self.releases.infinite + lost), dtype=np.float64)",
            "return np.asarray(finite, dtype=np.float64)",
            "what is revealed outright is left out",
        ),
        (
            "found = np.asarray(loss.profile(nodes), dtype=np.float64)",
            "found = np.asarray(loss.profile(nodes + 1e-3), dtype=np.float64)",
            "the curve is that of a smaller epsilon",
        ),
    ),
    *_in(
        "accountant/zcdp.py",
        "accountant/test_curve.py",
        (
            "rho = 0.5 * math.fsum(normal)",
            "rho = 0.25 * math.fsum(normal)",
            "rho of Gaussian noise is half of what it is",
        ),
        (
            "return max(-cells[0][0], beyond)",
            "return 0.98 * attained",
            "rho is below what an order attains",
        ),
        (
            "if spare < 0.0:",
            "if spare < -1.0:",
            "infinite losses are set apart beyond what was allowed",
        ),
    ),
    *_in(
        "accountant/renyi.py",
        "accountant/test_renyi.py accountant/test_edges.py",
        (
            "+ math.log((order - 1.0) / order)\n",
            "+ 2.0 * math.log((order - 1.0) / order)\n",
            "the conversion gives too small an epsilon",
        ),
        (
            "divergence = n * loss.divergence(order)",
            "divergence = loss.divergence(order)",
            "releases are not added up",
        ),
        (
            "min(classic, improved + rounding)",
            "min(classic, improved - rounding)",
            "conversions are rounded down",
        ),
    ),
    *_in(
        "losses/divergence.py",
        "accountant/test_renyi.py accountant/test_edges.py",
        (
            "+ (a * a + a + 1.0) * near**2 / 12.0",
            "- (a * a + a + 1.0) * near**2 / 12.0",
            "small losses are valued too low",
        ),
    ),
    *_in(
        "losses/laplace.py",
        "accountant/test_renyi.py accountant/test_edges.py",
        (
            "first = math.log(order / (2.0 * order - 1.0)) + above * ratio",
            "first = math.log(order / (2.0 * order - 1.0)) + (above - 1.0) * ratio",
            "Laplace noise at too small a divergence",
        ),
    ),
    *_in(
        "lattice/radial.py",
        "laws/test_lattice.py accountant/test_small_print.py",
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
        "losses/table.py",
        "accountant/test_small_print.py "
        "accountant/test_single.py accountant/test_edges.py accountant/test_enclosure.py "
        "accountant/test_composition.py accountant/test_renyi.py",
        (
            "if self.infinite > 0 or self.deviation > 0:\n            return math.inf",
            "if self.deviation > 0:\n            return math.inf",
            "mass off the support is forgotten by the Rényi divergence",
        ),
        (
            "return self.largest * (1.0 + DIVERGENCE_ROUNDING)",
            "return self.largest * (1.0 - 1e-9)",
            "pure privacy is rounded down",
        ),
        (
            "finite * (1.0 + self._sum_rounding) + some + self.infinite",
            "finite * (1.0 + self._sum_rounding) + some + 0.0",
            "unbounded losses are forgotten",
        ),
        (
            "either = self.infinite + other.infinite - self.infinite * other.infinite",
            "either = max(self.infinite, other.infinite)",
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
            "total = total - self.raised * (1.0 + 1e-9)",
            "total = total - 0.0",
            "the lower bound counts raised losses",
        ),
    ),
    *_in(
        "losses/rounding.py",
        "accountant/test_small_print.py "
        "accountant/test_single.py accountant/test_edges.py accountant/test_enclosure.py "
        "accountant/test_composition.py",
        (
            "return min(mass * (1.0 + mass_error + ULP * (terms + 4)) + SMALLEST * terms, 1.0)",
            "return min(mass * (1.0 - mass_error), 1.0)",
            "the mass of unbounded loss is rounded down",
        ),
    ),
    *_in(
        "losses/worst.py",
        "accountant/test_small_print.py "
        "accountant/test_single.py accountant/test_edges.py accountant/test_enclosure.py "
        "accountant/test_composition.py accountant/test_renyi.py",
        (
            "np.maximum.reduce([table.profile(epsilon) for",
            "np.minimum.reduce([table.profile(epsilon) for",
            "the best shift instead of the worst",
        ),
        (
            "return max(table.divergence(order) for",
            "return min(table.divergence(order) for",
            "the best shift instead of the worst, by Rényi divergence",
        ),
    ),
    *_in(
        "losses/gaussian.py",
        "accountant/test_small_print.py "
        "accountant/test_single.py accountant/test_edges.py accountant/test_enclosure.py "
        "accountant/test_composition.py accountant/test_renyi.py",
        (
            "p[-1] += self._mass_above_as_atom(top)",
            "p[-1] += 0.0",
            "losses above the grid are forgotten",
        ),
        (
            "np.asarray(0.5 * (first - second))",
            "np.asarray(0.5 * (first - 1.01 * second))",
            "the profile of Gaussian noise is too low",
        ),
        (
            "return order * 0.5 * self.mu**2",
            "return order * 0.25 * self.mu**2",
            "Gaussian noise at half its divergence",
        ),
        (
            "return self.mu**2\n",
            "return 0.9 * self.mu**2\n",
            "Gaussian releases are added up too small",
        ),
    ),
    *_in(
        "accountant/window.py",
        "accountant/test_small_print.py "
        "accountant/test_edges.py accountant/test_enclosure.py accountant/test_attacks.py "
        "accountant/test_composition.py",
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
            "count * max(table.infinite - loss.infinite, 0.0)",
            "0.0 * max(table.infinite - loss.infinite, 0.0)",
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
    ),
    *_in(
        "accountant/grid.py",
        "accountant/test_small_print.py "
        "accountant/test_edges.py accountant/test_enclosure.py accountant/test_attacks.py "
        "accountant/test_composition.py",
        (
            "up = -np.expm1(-part) / whole\n        down",
            "up = np.expm1(part - pitch) / -whole\n        down",
            "losses are rounded down to the grid",
        ),
    ),
    *_in(
        "accountant/saddle.py",
        "accountant/test_small_print.py "
        "accountant/test_edges.py accountant/test_enclosure.py accountant/test_attacks.py "
        "accountant/test_composition.py",
        (
            "kink = coarser * max(_KINK * epsilon,",
            "kink = coarser * max(_KINK + epsilon,",
            "kinks of the profile are moved by a coarse pitch",
        ),
    ),
    *_in(
        "accountant/composition.py",
        "accountant/test_small_print.py "
        "accountant/test_edges.py accountant/test_enclosure.py accountant/test_attacks.py "
        "accountant/test_composition.py",
        (
            "squares.append(count * loss.normal_variance)",
            "squares.append(loss.normal_variance)",
            "Gaussian releases are counted once",
        ),
        (
            "sum(count * math.log1p(-loss.infinite) for loss, count in self.parts)",
            "sum(math.log1p(-loss.infinite) for loss, count in self.parts)",
            "unbounded losses of one release",
        ),
        (
            "total = sum(count * max(loss.largest, 0.0) for",
            "total = sum(max(loss.largest, 0.0) for",
            "the largest total loss of one release",
        ),
        (
            "counts[loss] = counts.get(loss, 0) + count",
            "counts[loss] = count",
            "equal losses are counted once",
        ),
    ),
    *_in(
        "accountant/upper.py",
        "accountant/test_small_print.py "
        "accountant/test_edges.py accountant/test_enclosure.py accountant/test_attacks.py "
        "accountant/test_composition.py",
        (
            "delta - trimmed.infinite",
            "delta",
            "unbounded losses are not charged",
        ),
        (
            "epsilon_of_window(window, budget - truncated)",
            "epsilon_of_window(window, budget)",
            "cut-off losses are not charged",
        ),
        (
            "else (middle, high)\n    return high",
            "else (middle, high)\n    return low",
            "the epsilon returned does not hold",
        ),
    ),
    *_in(
        "accountant/lower.py",
        "accountant/test_small_print.py "
        "accountant/test_edges.py accountant/test_enclosure.py accountant/test_attacks.py "
        "accountant/test_composition.py",
        ("value - given_up - n * _RAISED - raised", "value + given_up", "the lower bound is none"),
    ),
    *_in(
        "series/slots.py",
        "series/test_kept_draw.py",
        (
            "return slot[-_CHECK:] == _checksum(slot[:-_CHECK], place)",
            "return any(slot)",
            "a number that was half erased is used",
        ),
        ('"n": 1 << 17', '"n": 1 << 10', "a passphrase is guessed a hundred times faster"),
    ),
    *_in(
        "series/kept_draw.py",
        "series/test_kept_draw.py",
        (
            "zeros = USED * (taking.used - begin)",
            "zeros = USED * (taking.used - begin - 1)",
            "the last number that is used stays in the file",
        ),
        (
            "        sync(handle)\n        if _read_at(",
            "        if _read_at(",
            "a number is used before it is erased on the disk",
        ),
        (
            "if _read_at(handle, len(zeros), at) != zeros:",
            "if False:",
            "a number is used although it was not erased",
        ),
        (
            "with counting(taking):\n                self._erase",
            "if True:\n                self._erase",
            "the ledger does not count",
        ),
        (
            "if used < (noted(handle) or 0):",
            "if False:",
            "a backup written over the file answers again",
        ),
        (
            'if identity(handle) != header.get("inode") or not is_noted:',
            "if not is_noted:",
            "a copy answers",
        ),
        ("if found.st_mode & 0o077:", "if found.st_mode & 0o007:", "a group may read the file"),
        ("if found.st_uid != os.geteuid():", "if False:", "the file is another user's"),
        (
            "            _check_owner(handle, self.path)\n",
            "",
            "others may read the file once it is open",
        ),
    ),
    *_in(
        "files/locking.py",
        "series/test_kept_draw.py",
        ("fcntl.LOCK_EX", "fcntl.LOCK_SH", "two processes get the same number"),
        (", 0o600)", ", 0o644)", "others can read a new file"),
    ),
    *_in(
        "series/series.py",
        "series/test_series.py series/test_kept_draw.py",
        (
            "_place(one, self._pitch * s) for",
            "_place(one, self._pitch) for",
            "values lie on the lattice of another sensitivity",
        ),
        ("(self._unit * scale)", "self._unit", "noise does not grow with the sensitivity"),
        (
            "any(one != 1.0 for one in scales)",
            "any(one < 1.0 for one in scales)",
            "whole numbers that one person moves by more than the noise is for",
        ),
        (
            'if self._kept.header["charged"] and self._ledger is None:',
            "if False:",
            "a series that was charged answers where nothing counts",
        ),
    ),
    *_in(
        "series/law.py",
        "series/test_series.py series/test_theorem.py",
        (
            "if law.kept_for is None:",
            "if False:",
            "questions that depend on answers learn more than was judged",
        ),
        (
            "return law.kept_for or BOX",
            "return BOX",
            "questions that all move one way pass for any",
        ),
    ),
    *_in(
        "series/plans.py",
        "series/test_series.py",
        (
            "if changes.is_one_sided and not all(entry.is_one_sided for entry in entries):",
            "if False:",
            "sums of any sign are answered by a series of counts",
        ),
    ),
    *_in(
        "laws/lattice.py",
        "series/test_theorem.py",
        ("return corner_is_worst(self)", "return True", "a law that rises passes for convex"),
    ),
    *_in(
        "series/opening.py",
        "series/test_kept_draw.py series/test_series.py",
        (
            "spends = [Spend(law.noise, 1.0, law.uses, changes_served(law.noise))]",
            "spends = [Spend(law.noise, 1.0, 1, changes_served(law.noise))]",
            "one draw is charged for many",
        ),
        (
            "        _check_charged(charged, header, law)\n",
            "",
            "a ledger that was charged for something else pays",
        ),
        ("    check_convex(law)\n", "", "a file brings a law that was never judged for it"),
        (
            'if not 0 < header["questions"] <= header["draws"] * law.dimension:',
            "if False:",
            "a file gives more answers than were drawn for",
        ),
    ),
    *_in(
        "series/plans.py",
        "series/test_series.py",
        ("if unit != series.unit:", "if False:", "a plan protects others than the series"),
        (
            'if law.domain == "integer" and any(',
            "if False and any(",
            "sums get noise for counts",
        ),
        (
            "if series.dataset is not None and series.dataset != named:",
            "if False:",
            "another data set answers at the cost of this one",
        ),
    ),
    *_in(
        "ledger/ledger.py",
        "series/test_kept_draw.py ledger/test_series_events.py",
        (
            "check_copy(entry, accounts.unused.get(number), first, left)",
            "pass",
            "two copies of a series that race give the same number",
        ),
    ),
]
