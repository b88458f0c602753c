"""The one-page report for the public, as HTML, and how its numbers are shown. Nothing is in it that is not in the release."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from leastnoise.digits import above, below
from leastnoise.releases.estimate import CHECKS, Row
from leastnoise.releases.plan import Plan, Values
from leastnoise.releases.report import (
    clipped,
    guarantee,
    in_words,
    intervals_in_words,
    registry,
    shares_of,
    unit,
    why,
)
from leastnoise.releases.shares import share

if TYPE_CHECKING:
    from leastnoise.releases.run import Release

# Colours are variables: a dark screen and paper each get their own. The numbers line up; a narrow screen keeps what matters.
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d5dae0; --card: #f3f6f9; --mark: #b04a00;
  --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a3acb6; --line: #3a424b; --card: #1d232a; --mark: #ff9d5c; --paper: #12161b }
}
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; color: var(--ink);
  background: var(--paper); max-width: 56rem; margin: 2.5rem auto 4rem; padding: 0 1.25rem; overflow-wrap: break-word }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .3rem } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem }
p { margin: .5rem 0; max-width: 46rem } .soft, caption { color: var(--soft) } .small { font-size: .87rem }
.warning { background: #b00020; color: #fff; padding: .6rem .9rem; border-radius: .3rem; font-weight: 600 }
.caution { border-left: .3rem solid var(--mark); background: var(--card); padding: .6rem .9rem }
.facts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.2rem 0; padding: 0 }
.facts div { background: var(--card); border-radius: .5rem; padding: .7rem 1rem; flex: 1 1 10rem }
.facts dt { font-size: .82rem; color: var(--soft) }
.few { color: var(--soft); font-style: italic } .facts dd small { font-size: .9rem; font-weight: 400; color: var(--soft) }
code { font-size: .87em; overflow-wrap: anywhere }
.facts dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums }
table { border-collapse: collapse; width: 100%; margin: .8rem 0 }
caption { text-align: left; font-size: .87rem; padding-bottom: .5rem }
th, td { text-align: left; padding: .38rem .9rem .38rem 0; border-bottom: 1px solid var(--line); vertical-align: middle }
th { font-size: .82rem; font-weight: 600; color: var(--soft); border-bottom-width: 2px }
th:last-child, td:last-child { padding-right: 0 } td:first-child { overflow-wrap: anywhere; min-width: 7.5rem }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } td small { display: block; color: var(--soft) }
td.bar, th.bar { width: 11.5rem } td svg { display: block; width: 100%; height: 18px; overflow: visible }
svg .track { stroke: var(--line); stroke-width: 1.5 } svg .reach { stroke: var(--mark); stroke-width: 8; opacity: .45 }
svg .value { stroke: var(--ink); stroke-width: 2 } sup { line-height: 0; font-size: .7em }
section.record { font-size: .87rem } section.record > dl > div { border-top: 1px solid var(--line); padding: .6rem 0 }
section.record > dl { margin: 0 } section.record > dl > div > dt { font-weight: 600; margin-bottom: .2rem }
section.record dd { margin: 0; overflow-wrap: anywhere } .scroll { overflow-x: auto }
section.record dd dl { margin: 0; display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: .1rem 1rem }
section.record dd dl > div { display: contents } section.record dd dl dt { color: var(--soft) }
footer { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .6rem }
@media screen and (max-width: 40rem) {
  body { margin-top: 1.25rem; padding: 0 1rem } h1 { font-size: 1.4rem } th.std, td.std { display: none }
  td.bar, th.bar { width: 6rem } th, td { padding-right: .6rem } .facts div { flex-basis: 9rem; padding: .55rem .8rem }
  section.record dd dl { grid-template-columns: 1fr } section.record dd dl dd { margin-bottom: .4rem }
}
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --card: #f4f4f4; --mark: #8a3a00;
    --paper: #fff; font-size: 12px }
  body { font-size: 1rem; line-height: 1.4; margin: 0; max-width: none; padding: 0 }
  th, td { padding-top: .2rem; padding-bottom: .2rem }
  h2 { break-after: avoid; margin-top: 1.4rem } tr, .facts, section.record > dl > div { break-inside: avoid }
  thead { display: table-header-group } p { max-width: none }
}
"""


def page(release: Release) -> str:
    """One HTML page without scripts, fonts or links to load; it reads on a telephone, in the dark, and on paper."""
    plan, made = release.plan, release.mechanism
    title = escape(plan.about.get("title", plan.name))
    curator = f" by {escape(plan.about['curator'])}" if "curator" in plan.about else ""
    warning = "" if release.is_private else f'<p class="warning">{escape(release.entropy)}</p>'
    labelled = (
        f"<p>Post-processing, which costs no privacy: {escape(', '.join(plan.postprocess))}. {escape(intervals_in_words(plan))}</p>"
        if plan.postprocess
        else ""
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style></head><body>
<header><h1>{title}</h1>
<p class="soft">Published{curator}, {escape(_day(release.published))}</p></header>{warning}
<p>These numbers are noisy on purpose: the noise protects the people in the table.</p>
<dl class="facts">
<div><dt>Privacy loss ε, at most</dt><dd>{above(release.epsilon)}</dd></div>
<div><dt>except with probability δ</dt><dd>{_power(release.delta)}</dd></div>
{_so_far(release)}<div><dt>Noise, if it were Gaussian</dt><dd>{made.gaussian_factor:.3g} ×</dd></div>
</dl>
<h2>What is guaranteed</h2>
<p>{escape(in_words(release))}</p>
<p>Protected is {escape(unit(plan))}. Neighbouring tables: {escape(plan.relation)} one person.
This covers {escape(guarantee(release)["covers"])}.</p>
{_cautions(release)}<h2>The numbers</h2>{labelled}
<div class="scroll">{_table(release)}</div>
<h2>What was bounded</h2>
{_bounds(release)}
<h2>The noise</h2>
<p>{escape(why(release))}</p>
<p>{_counted(len(made.entries), "noisy answer")}, {_counted(len(made.draws), "draw")}. Entropy: {escape(release.entropy)}.</p>
{_ledger(release)}<h2>Record for the registry of deployments</h2>
<section class="record">{_definitions(registry(release)["deployment"])}</section>
<footer class="soft small"><p>Plan {release.plan.hash[:16]}…, result {release.hash[:16]}…. Made with leastnoise.</p></footer>
</body></html>
"""


def _so_far(release: Release) -> str:
    """The cost of all releases, where a ledger adds them up."""
    if release.standing is None:
        return f"<div><dt>Published numbers</dt><dd>{len(_asked(release))}</dd></div>\n"
    said = (
        f"ε of all {release.standing.releases} releases so far"
        if release.standing.releases > 1
        else "ε of all releases so far"
    )
    spent, budget = above(release.standing.spent), below(release.standing.epsilon, 6)
    return f"<div><dt>{said}</dt><dd>{spent} <small>of {budget}</small></dd></div>\n"


def _ledger(release: Release) -> str:
    """What whoever doubts the accounts later needs."""
    at = release.standing
    if at is None:
        return ""
    return (
        f"<h2>The ledger</h2>\n<p>Entry {release.entry}, data set {escape(at.dataset)}. All releases so far ({at.releases}) have "
        f"spent ε = {above(at.spent)} of {below(at.epsilon, 6)}, at δ = {_power(at.delta)}. "
        f"The head of the ledger after this release is "
        f"<code>{at.head}</code>: an owner who changes an older entry cannot arrive at it again.</p>\n"
    )


def _asked(release: Release) -> list[Row]:
    return [row for row in release.rows if row.kind not in CHECKS]


def _bounds(release: Release) -> str:
    """Contribution bounds and clipping bounds, and the noisy numbers of those that they concern."""
    plan = release.plan
    columns = "\n".join(
        f'<tr><td>{escape(one.column)}</td><td class="n">{one.lower:g} to {one.upper:g}</td><td class="n">{one.pitch:g}</td>'
        f'<td class="n">{_missing(one)}</td></tr>'
        for one in clipped(plan)
    )
    if columns:
        columns = f"""<div class="scroll"><table><caption>Values beyond these bounds count as the bound.</caption>
<thead><tr><th scope="col">Column</th><th scope="col" class="n">Bounds</th><th scope="col" class="n">Rounded to</th>
<th scope="col" class="n">Missing</th></tr></thead><tbody>
{columns}
</tbody></table></div>"""
    found = "\n".join(
        f'<tr><td>{escape(_check(row))}<small>{_THEN[row.kind]}</small></td><td class="n">{row.in_words()}</td>'
        f'<td class="n">{_between(share(plan, release.rows, row))}</td></tr>'
        for row in release.rows
        if row.kind in CHECKS
    )
    if found:
        found = f"""<div class="scroll"><table><caption>How many this concerns. Counted with noise like every number
here, for a small share of ε. {escape(shares_of(plan))} What cannot be told is a dash.</caption>
<thead><tr><th scope="col">Counted</th><th scope="col" class="n">Number</th><th scope="col" class="n">Share</th></tr></thead><tbody>
{found}
</tbody></table></div>"""
    return f"<p>{escape(_contribution(plan))}</p>\n{columns}\n{found}"


def _contribution(plan: Plan) -> str:
    """How much of one person counts."""
    if plan.one_row_per_person:
        return "One row is one person, and every row counts."
    groups = (
        ""
        if plan.groups_per_person is None
        else f", in at most {plan.groups_per_person} groups of each grouping"
    )
    each = "" if plan.rows_per_group is None else f", at most {plan.rows_per_group} in one group"
    return f"Of each person at most {plan.rows_per_person} rows count{groups}{each}. Rows without a {plan.person} do not."


_THEN = {
    "left out": "what is more is left out",
    "clipped": "counts as the bound",
    "unreadable": "counts as missing",
    "other keys": "what has another key is in no declared group",
}


def _check(row: Row) -> str:
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


def _cautions(release: Release) -> str:
    """What is said before the numbers."""
    if not release.cautions:
        return ""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in release.cautions)
    return f'<h2>Before you read the numbers</h2>\n<div class="caution">{said}</div>\n'


def scales(release: Release) -> dict[str, tuple[float, float]]:
    """The scale that each statistic is drawn on: a mean between its declared bounds, anything else from zero; wider where an
    interval reaches beyond. Nothing but the plan and the published numbers decides it."""
    declared = {statistic.name: statistic for statistic in release.plan.statistics}
    found: dict[str, tuple[float, float]] = {}
    for row in release.rows:
        statistic = declared.get(row.statistic)
        start = (0.0, 0.0)
        if (
            statistic is not None
            and statistic.kind == "mean"
            and statistic.lower is not None
            and statistic.upper is not None
        ):
            start = (statistic.lower, statistic.upper)
        low, high = found.get(row.statistic, start)
        found[row.statistic] = (
            (low, high) if row.value is None else (min(low, row.lower), max(high, row.upper))
        )
    return {
        name: (low, high) if low < high else (low - 1.0, high + 1.0)
        for name, (low, high) in found.items()
    }


def _table(release: Release) -> str:
    ranges = scales(release)
    rows = "\n".join(
        f"<tr><td>{escape(row.statistic)}{_group(row)}</td>{_numbers(row)}"
        f'<td class="bar">{_bar(row, *ranges[row.statistic])}</td></tr>'
        for row in _asked(release)
    )
    return f"""<table><caption>± is the half-width of a 95 % interval from noise alone: it does not cover sampling, missing answers
or clipping. Drawn on the right: means between their declared bounds, other numbers from zero.</caption>
<thead><tr><th scope="col">Statistic</th><th scope="col" class="n">Value</th><th scope="col" class="n">95 % interval</th>
<th scope="col" class="n std">Noise std</th><th scope="col" class="bar">On its scale</th></tr></thead><tbody>
{rows}
</tbody></table>"""


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _group(row: Row) -> str:
    return f"<small>{escape(row.group)}</small>" if row.group else ""


def _numbers(row: Row) -> str:
    """The cells of value, interval and noise."""
    value, width = row.shown()
    if not width:
        return f'<td class="n few" colspan="2">{value}</td><td class="n std"></td>'
    return f'<td class="n">{value}</td><td class="n">± {width}</td><td class="n std">{above(row.noise_std, 3)}</td>'


def _bar(row: Row, low: float, high: float) -> str:
    """An error bar on the scale of its statistic."""
    width = high - low
    if row.value is None or not (width > 0 and math.isfinite(width)):
        return ""

    def at(value: float) -> str:
        return f"{2 + 96 * (min(max(value, low), high) - low) / width:.2f}%"

    left, right = at(row.lower), at(row.upper)
    return (
        f'<svg role="img" aria-label="{row.in_words()}, on a scale from {low:.4g} to {high:.4g}">'
        '<line class="track" x1="2%" x2="98%" y1="9" y2="9"/><line class="track" x1="2%" x2="2%" y1="5" y2="13"/>'
        '<line class="track" x1="98%" x2="98%" y1="5" y2="13"/>'
        f'<line class="reach" x1="{left}" x2="{right}" y1="9" y2="9"/>'
        f'<line class="value" x1="{at(row.value)}" x2="{at(row.value)}" y1="3" y2="15"/></svg>'
    )


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
    return (
        f"10<sup>−{-exponent}</sup>"
        if exponent < 0 and value == float(f"1e{exponent}")
        else above(value, 6)
    )


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
    """A field of the registry as words."""
    words = key.replace("_", " ").replace("dp ", "DP ").replace("eda", "EDA")
    return words[:1].upper() + words[1:]
