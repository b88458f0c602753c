"""A release as HTML: the one-page report for the public, and the card that a notebook shows.
Nothing is in them that is not in the release."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from html import escape
from importlib import resources
from typing import Any

from leastnoise.accountant.attacker import guesses, per_cent
from leastnoise.releases.estimates.row import CHECKS, ReleasedRow
from leastnoise.releases.estimates.shares import share
from leastnoise.releases.noise.sensitivity import bounded_columns
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic, Values
from leastnoise.releases.record import ReleaseRecord, Standing
from leastnoise.releases.report.guarantee import (
    attacker,
    attacker_in_words,
    guarantee,
    in_words,
    intervals_in_words,
    keys_in_words,
    margins_in_words,
    shares_of,
    unit,
    why,
)
from leastnoise.releases.report.registry import registry
from leastnoise.text.html import MOST_ROWS, error_bar_svg, facts, table
from leastnoise.text.numbers import above, below

# The style, `style.css`, has colours as variables: a dark screen and paper each get their own. The
# numbers line up; a narrow screen keeps what matters.
_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">\
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style></head><body>
"""


def html_report(release: ReleaseRecord) -> str:
    """One HTML page without scripts, fonts or links, to read on a telephone and on paper."""
    plan, made = release.plan, release.mechanism
    title = escape(plan.about.get("title", plan.name))
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    curator = f" by {escape(plan.about['curator'])}" if "curator" in plan.about else ""
    warning = "" if release.is_private else f'<p class="warning">{escape(release.entropy)}</p>'
    labelled = f"<p>{escape(margins_in_words(made))}</p>" if made.tables else ""
    if made.threshold is not None:
        labelled += f"<p>{escape(keys_in_words(release.plan, made))}</p>"
    if plan.postprocess:
        done = escape(", ".join(plan.postprocess))
        said = escape(intervals_in_words(release))
        labelled += f"<p>Post-processing, which costs no privacy: {done}. {said}</p>"
    answers, draws = _counted(len(made.entries), "noisy answer"), _counted(len(made.draws), "draw")
    hashes = f"Plan {plan.hash[:16]}…, result {release.hash[:16]}…"
    return f"""{_HEAD.format(title=title, style=style)}<header><h1>{title}</h1>
<p class="soft">Published{curator}, {escape(_day(release.published))}</p></header>{warning}
<p>These numbers are noisy on purpose: the noise protects the people in the table.</p>
<dl class="facts">
{_fact("Privacy loss ε, at most", above(release.epsilon))}
{_fact("except with probability δ", _power(release.delta))}
{_so_far(release)}
{_fact("Noise, if it were Gaussian", f"{made.gaussian_factor:.3g} ×")}
{_guesses(release)}</dl>
<h2>What is guaranteed</h2>
<p>{escape(in_words(release))}</p>
{_attacker(release)}<p>Protected is {escape(unit(plan, made))}.
Neighbouring tables: {escape(plan.relation)} one person.
This covers {escape(guarantee(release)["covers"])}.</p>
{_cautions(release)}<h2>The numbers</h2>{labelled}
<div class="scroll">{_table(release)}</div>
<h2>What was bounded</h2>
<p>{escape(_contribution(plan))}</p>
{_formulas(plan)}
{_columns_table(plan)}
{_checks_table(release)}
<h2>The noise</h2>
<p>{escape(why(release))}</p>
<p>{answers}, {draws}. Entropy: {escape(release.entropy)}.</p>
{_ledger(release)}<h2>Record for the registry of deployments</h2>
<section class="record">{_definitions(registry(release)["deployment"])}</section>
<footer class="soft small"><p>{hashes}. Made with leastnoise.</p></footer>
</body></html>
"""


def _fact(what: str, number: str) -> str:
    return f"<div><dt>{what}</dt><dd>{number}</dd></div>"


def _guesses(release: ReleaseRecord) -> str:
    """The right guesses of somebody who starts from even odds."""
    found = attacker(release)
    if found is None:
        return ""
    return _fact("Right guesses, at most", per_cent(found["right_guesses"])) + "\n"


def _attacker(release: ReleaseRecord) -> str:
    said = attacker_in_words(release)
    return f"<p>{escape(said)}</p>\n" if said else ""


def _so_far(release: ReleaseRecord) -> str:
    """The cost of all releases, where a ledger adds them up."""
    at = release.standing
    if at is None:
        return _fact("Published numbers", str(len(_asked(release))))
    every = f"all {at.releases} releases" if at.releases > 1 else "all releases"
    spent = f"{above(at.spent)} <small>of {below(at.epsilon, 6)}</small>"
    return _fact(f"ε of {every} so far", spent)


def _ledger(release: ReleaseRecord) -> str:
    """What whoever doubts the accounts later needs."""
    at = release.standing
    if at is None:
        return ""
    return (
        f"<h2>The ledger</h2>\n<p>Entry {release.entry}, data set {escape(at.dataset)}. All "
        f"releases so far ({at.releases}) have spent ε = {above(at.spent)} of "
        f"{below(at.epsilon, 6)}, at δ = {_power(at.delta)}{_cap_used(at)}. The head of the "
        f"ledger after this release is <code>{at.head}</code>: an owner who changes an older entry "
        "cannot arrive at it again.</p>\n"
    )


def _cap_used(at: Standing) -> str:
    """What all releases together have used of a cap on the attacker's advantage."""
    if at.advantage is None or at.advantage_used is None:
        return ""
    return (
        f", and an attacker's advantage of {above(at.advantage_used)} of "
        f"{below(at.advantage, 6)}: from even odds at most {guesses(at.advantage_used)} right "
        f"guesses, of {guesses(at.advantage)} allowed"
    )


def _asked(release: ReleaseRecord) -> list[ReleasedRow]:
    return [row for row in release.rows if row.kind not in CHECKS]


def _columns_table(plan: Plan) -> str:
    columns = [
        f"<tr><td>{escape(one.column)}</td>{_n(f'{one.lower:g} to {one.upper:g}')}"
        f"{_n(f'{one.pitch:g}')}{_n(_missing(one))}</tr>"
        for one in bounded_columns(plan)
    ]
    if not columns:
        return ""
    lines = "\n".join(columns)
    return f"""<div class="scroll"><table>\
<caption>Values beyond these bounds count as the bound.</caption>
<thead><tr><th scope="col">Column</th><th scope="col" class="n">Bounds</th>\
<th scope="col" class="n">Rounded to</th>
<th scope="col" class="n">Missing</th></tr></thead><tbody>
{lines}
</tbody></table></div>"""


def _checks_table(release: ReleaseRecord) -> str:
    plan, rows = release.plan, release.rows
    found = [
        f"<tr><td>{escape(_check(row))}<small>{_THEN[row.kind]}</small></td>"
        f"{_n(row.in_words())}{_n(_between(share(plan, rows, row)))}</tr>"
        for row in rows
        if row.kind in CHECKS
    ]
    if not found:
        return ""
    lines = "\n".join(found)
    return f"""<div class="scroll"><table><caption>How many this concerns. \
Counted with noise like every number
here, for a small share of ε. {escape(shares_of(plan))} What cannot be told is a dash.</caption>
<thead><tr><th scope="col">Counted</th><th scope="col" class="n">Number</th>\
<th scope="col" class="n">Share</th></tr></thead><tbody>
{lines}
</tbody></table></div>"""


def _n(number: str) -> str:
    """The cell of a number."""
    return f'<td class="n">{number}</td>'


def _contribution(plan: Plan) -> str:
    """How much of one person counts."""
    if plan.one_row_per_person:
        counted = f"those where {plan.where} count" if plan.where else "every row counts"
        return f"One row is one person, and {counted}."
    said = f"Of each person at most {plan.rows_per_person} rows count"
    if plan.groups_per_person is not None:
        said += f", in at most {plan.groups_per_person} groups of each grouping"
    if plan.rows_per_group is not None:
        said += f", at most {plan.rows_per_group} in one group"
    only = f" Only rows where {plan.where} count." if plan.where else ""
    return f"{said}. Rows without a {plan.person} do not.{only}"


def _formulas(plan: Plan) -> str:
    """What the statistics of some rows are about, and how columns are computed."""
    some = [(one.name, f"of the rows where {one.where}") for one in plan.statistics if one.where]
    lines = [*some, *((name, f"is {formula}") for name, formula in plan.derive.items())]
    listed = "".join(f"<li>{escape(name)}: {escape(said)}</li>" for name, said in lines)
    return f"<ul>{listed}</ul>" if lines else ""


_THEN = {
    "left out": "what is more is left out",
    "clipped": "counts as the bound",
    "unreadable": "counts as missing",
    "other keys": "what has another key is in no declared group",
}


def _check(row: ReleasedRow) -> str:
    if row.kind == "other keys":
        return f"{row.statistic}: {row.group}"
    what = {
        "left out": "{}",
        "clipped": "a value of {} beyond its bounds",
        "unreadable": "a value of {} that is no number",
    }
    return f"persons with {what[row.kind].format(row.group)}"


def _missing(one: Values) -> str:
    return "left out" if one.missing == "drop" else f"counts as {one.missing:g}"


def _between(shares: tuple[float, float] | None) -> str:
    if shares is None or shares[1] - shares[0] >= 1.0:
        return "–"
    low, high = below(100.0 * shares[0], 2), above(100.0 * shares[1], 2)
    return f"{low} to {high} %"


def _cautions(release: ReleaseRecord) -> str:
    """What is said before the numbers."""
    if not release.cautions:
        return ""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in release.cautions)
    return f'<h2>Before you read the numbers</h2>\n<div class="caution">{said}</div>\n'


def _table(release: ReleaseRecord) -> str:
    ranges = scales(release)
    rows = "\n".join(
        f"<tr><td>{escape(row.statistic)}{_group(row)}</td>{_numbers(row)}"
        f'<td class="bar">{_bar(row, *ranges[row.statistic])}</td></tr>'
        for row in _asked(release)
    )
    return f"""<table><caption>± is the half-width of a 95 % interval from noise alone: \
it does not cover sampling, missing answers
or clipping. Drawn on the right: means and quantiles between their declared bounds, other numbers
from zero.\
</caption>
<thead><tr><th scope="col">Statistic</th><th scope="col" class="n">Value</th>\
<th scope="col" class="n">95 % interval</th>
<th scope="col" class="n std">Noise std</th><th scope="col" class="bar">On its scale</th></tr>\
</thead><tbody>
{rows}
</tbody></table>"""


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _group(row: ReleasedRow) -> str:
    return f"<small>{escape(row.group)}</small>" if row.group else ""


def _numbers(row: ReleasedRow) -> str:
    """The cells of value, interval and noise."""
    value, width = row.shown()
    if not width:
        return f'<td class="n few" colspan="2">{value}</td><td class="n std"></td>'
    if row.has_ends:
        return f'{_n(value)}{_n(width)}<td class="n std">–</td>'
    return f'{_n(value)}{_n(f"± {width}")}<td class="n std">{above(row.noise_std, 3)}</td>'


def _bar(row: ReleasedRow, low: float, high: float) -> str:
    """An error bar on the scale of its statistic."""
    width = high - low
    if row.value is None or not (width > 0 and math.isfinite(width)):
        return ""

    def at(value: float) -> str:
        return f"{2 + 96 * (min(max(value, low), high) - low) / width:.2f}%"

    def line(kind: str, x1: str, x2: str, y1: int, y2: int) -> str:
        return f'<line class="{kind}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'

    drawn = [
        line("track", "2%", "98%", 9, 9),
        line("track", "2%", "2%", 5, 13),
        line("track", "98%", "98%", 5, 13),
        line("reach", at(row.lower), at(row.upper), 9, 9),
        line("value", at(row.value), at(row.value), 3, 15),
    ]
    said = f"{row.in_words()}, on a scale from {low:.4g} to {high:.4g}"
    return f'<svg role="img" aria-label="{said}">{"".join(drawn)}</svg>'


def _day(stamp: str) -> str:
    """2026-11-15T23:40:00+00:00 as 2026-11-15, 23:40 UTC; what is no such time, as it is."""
    try:
        at = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    return f"{at:%Y-%m-%d, %H:%M} UTC" if at.utcoffset() == timedelta(0) else stamp


def _power(value: float) -> str:
    """1e-06 as 10 to the −6."""
    exponent = round(math.log10(value))
    is_power = exponent < 0 and value == float(f"1e{exponent}")
    return f"10<sup>−{-exponent}</sup>" if is_power else above(value, 6)


def _definitions(record: Any) -> str:
    if isinstance(record, dict):
        entries = (
            f"<div><dt>{escape(_words(key))}</dt><dd>{_definitions(value)}</dd></div>"
            for key, value in record.items()
        )
        return "<dl>" + "".join(entries) + "</dl>"
    if isinstance(record, list):
        return escape(", ".join(map(str, record))) or "–"
    return escape(f"{record:.6g}" if isinstance(record, float) else str(record)) or "–"


def _words(key: str) -> str:
    words = key.replace("_", " ").replace("dp ", "DP ").replace("eda", "EDA")
    return words[:1].upper() + words[1:]


def card(release: ReleaseRecord) -> str:
    """What is said of the release, then its first rows, each statistic drawn on its own range."""
    about = {
        "release": release.plan.name,
        "guarantee": f"ε = {above(release.epsilon, 6)} at δ = {above(release.delta, 6)}",
        "engine": release.engine,
        "entropy": release.entropy,
    }
    if release.cautions:
        about["before you read the numbers"] = " ".join(release.cautions)
    ranges = scales(release)

    def bar(row: ReleasedRow) -> str:
        if row.value is None:
            return ""
        ends = (row.lower, row.upper, *ranges[row.statistic])
        return error_bar_svg(row.in_words(), row.value, *ends)

    rows = [
        (escape(row.statistic), escape(row.group), *row.shown(), bar(row))
        for row in release.rows[:MOST_ROWS]
    ]
    numbers = table(("statistic", "group", "value", "± at 95 %", ""), rows)
    more = len(release.rows) - MOST_ROWS
    return facts(about) + numbers + (f"<p>and {more} more</p>" if more > 0 else "")


def scales(release: ReleaseRecord) -> dict[str, tuple[float, float]]:
    """A mean or quantile between its declared bounds, anything else from zero; wider where an
    interval reaches beyond. Nothing but the plan and the published numbers decides it."""
    starts = {statistic.name: _start(statistic) for statistic in release.plan.statistics}
    found: dict[str, tuple[float, float]] = {}
    for row in release.rows:
        low, high = found.get(row.statistic, starts.get(row.statistic, (0.0, 0.0)))
        if row.value is not None:
            low, high = min(low, row.lower), max(high, row.upper)
        found[row.statistic] = low, high
    return {
        name: (low, high) if low < high else (low - 1.0, high + 1.0)
        for name, (low, high) in found.items()
    }


def _start(statistic: Statistic) -> tuple[float, float]:
    is_within = statistic.kind in ("mean", "quantile")
    if not is_within or statistic.lower is None or statistic.upper is None:
        return 0.0, 0.0
    return statistic.lower, statistic.upper
