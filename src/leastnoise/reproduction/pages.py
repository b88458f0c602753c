"""README.md and BEYOND.md, written from the records alone, so that no number in them is
typed by hand."""

from __future__ import annotations

import math
import re
from pathlib import Path

from leastnoise.reproduction.figures import NAMES
from leastnoise.reproduction.published_run import HALVINGS
from leastnoise.reproduction.records import Record, read_json
from leastnoise.text.numbers import with_uncertainty

_HEAD = """# The paper, reproduced and surpassed

Every figure and table of *Optimizing Noise Distributions for Differential Privacy* (ICML 2025), \
computed by this package. This page
is written by `leastnoise.reproduction.pages` from the records in `results/`; do not edit it.

- **printed** is the number in the paper, a dash where none is printed.
- **Alg. 3** is the published method (`leastnoise.designer.published`) run here, with {halvings} \
halvings of the step instead of the
  printed 10, which favours it, and the law it ends with judged by our accountant.
- **ours** is this package; **ratio** is ours/printed, or ours/Alg. 3 where nothing is printed.
- All ε are certified upper bounds of the tight accountant unless "moments" is said.

Run it: `pip install ".[paper]"`, then `python -m leastnoise.reproduction all --out paper` \
(`--quick` for seconds instead of
minutes, `--processes N` or `--scheduler tcp://HOST:8786` for a Dask cluster; an interrupted run \
goes on where it stopped). The
seconds below are of two shared processor cores.
"""

_GUESSES = (
    "A best guess is how often somebody who knows everything but whether one given person is in "
    "the data is right at most, from even odds. Answers asked together get the same laws as one "
    "kept draw, so the last column is theirs too: at the same σ joint noise has less ε and leaves "
    "an attacker more, for it uses what ε and δ allow (docs/curve.md)."
)


def write_pages(out: Path) -> list[Path]:
    """The two pages over the records found in out/results."""
    paths = {name: out / "results" / f"{name}.json" for name in NAMES}
    records = {name: read_json(path) for name, path in paths.items() if path.exists()}
    written = []
    if any(name != "beyond" for name in records):
        (out / "README.md").write_text(readme(records), encoding="utf-8")
        written.append(out / "README.md")
    if "beyond" in records:
        (out / "BEYOND.md").write_text(beyond(records["beyond"]), encoding="utf-8")
        written.append(out / "BEYOND.md")
    return written


def readme(records: dict[str, Record]) -> str:
    """The comparison, one table over all, then a section a figure."""
    lines = [_HEAD.format(halvings=HALVINGS), *_overview(records)]
    for name, record in records.items():
        if name != "beyond":
            lines += _section(name, record)
    if "beyond" in records:
        lines += ["", "What the paper leaves open is on the next page: [BEYOND.md](BEYOND.md)."]
    return "\n".join(lines) + "\n"


def beyond(record: Record) -> str:
    """The page about what the paper does not show."""
    heads = ("The order", "The stall", "Ripples and worst shifts", "Batches", "One after another")
    quick = " (quick form)" if record["quick"] else ""
    command = "`python -m leastnoise.reproduction beyond --out paper`"
    lines = [
        "# Beyond the paper",
        "",
        f"Written by `leastnoise.reproduction.pages` from `results/beyond.json`{quick}; {command}, "
        f"{record['seconds']:.0f} s.",
        "",
        "![Order, stall, ripples, batches](results/beyond.png)",
    ]
    for head, note in zip(heads, record["notes"], strict=True):
        lines += ["", f"## {head}", "", _spaced(note)]
    lines += ["", *_series_table(record["series"]), "", _GUESSES]
    lines += ["", "## In numbers", "", *_table(record["rows"])]
    return "\n".join(lines) + "\n"


def _series_table(series: list[Record]) -> list[str]:
    """Upper bounds, rounded up."""
    noises = {"gaussian": "Gaussian", "anew": "ours, drawn anew", "kept": "one kept draw"}
    heads = [f"ε, {name}" for name in noises.values()]
    heads += [f"best guess, {name}" for name in noises.values()]
    lines = [f"| questions | {' | '.join(heads)} |", "|---:|" + "---:|" * len(heads)]
    for cell in series:
        cells = [f"{math.ceil(1e4 * cell[noise]) / 1e4:.4f}" for noise in noises]
        cells += [f"{math.ceil(1e3 * cell['guess'][noise]) / 10:.1f} %" for noise in noises]
        lines.append(f"| {cell['questions']} | {' | '.join(cells)} |")
    return lines


def _overview(records: dict[str, Record]) -> list[str]:
    lines = [
        "| figure | command | seconds | quantity | printed | Alg. 3 | ours | ratio | verdict |",
        "|---|---|---:|---|---:|---:|---:|---:|---|",
    ]
    for name, record in records.items():
        for i, entry in enumerate(record["rows"] if name != "beyond" else []):
            head = _overview_head(name, record) if i == 0 else ("", "", "")
            lines.append("| " + " | ".join((*head, *_cells(entry))) + " |")
    return lines


def _overview_head(name: str, record: Record) -> tuple[str, str, str]:
    link, command = f"[{name}](#{name})", f"`python -m leastnoise.reproduction {name}`"
    if record["quick"]:
        link, command = f"{link} (quick)", f"{command} `--quick`"
    return link, command, f"{record['seconds']:.0f}"


def _section(name: str, record: Record) -> list[str]:
    title = record["title"]
    lines = ["", f"## {name}", "", f"{title}.", "", f"![{title}](results/{name}.png)", ""]
    lines += [f"- {_spaced(note)}" for note in record["notes"]]
    if name == "table1":
        rescaled = "rescaled by its 5th and 95th percentile and clipped to [0, 1]:"
        lines += _improvements(record)
        lines += ["", f"The ten queries, each the mean of a feature {rescaled}", ""]
        lines += [f"- {each}: {'; '.join(found)}." for each, found in record["queries"].items()]
    return lines


def _improvements(record: Record) -> list[str]:
    epsilons = record["setting"]["epsilons"]
    head = " | ".join(f"ε = {e:g}" for e in epsilons)
    lines = ["", f"| less MSE than Gaussian, % | {head} |", "|---|" + "---:|" * len(epsilons)]
    for dataset, mechanisms in record["improvement"].items():
        # As the paper has them.
        printed = [f"{mean:.2f} ± {std:.2f}" for mean, std in record["printed"][dataset]]
        ours = {
            mechanism: [with_uncertainty(mean, std) for mean, std in values]
            for mechanism, values in mechanisms.items()
        }
        for mechanism, cells in {"printed": printed, **ours}.items():
            lines.append(f"| {dataset}, {mechanism} | {' | '.join(cells[: len(epsilons)])} |")
    if record["likely"]:
        improved = "improvement over a Gaussian of the printed ε, %"
        lines += ["", f"| σ, in sensitivities | printed ε | our ε at this σ | {improved} |"]
        lines.append("|---:|---:|---:|---:|")
        for entry in record["likely"]:
            epsilons = f"{entry['printed_epsilon']:g} | {entry['our_epsilon']:.4f}"
            improved = f"{entry['improvement_at_printed']:.2f}"
            lines.append(f"| {entry['sigma']:g} | {epsilons} | {improved} |")
    return lines


def _table(rows: list[Record]) -> list[str]:
    lines = [
        "| quantity | printed | Alg. 3 | ours | ratio | verdict |",
        "|---|---:|---:|---:|---:|---|",
    ]
    return lines + ["| " + " | ".join(_cells(entry)) + " |" for entry in rows]


def _cells(entry: Record) -> tuple[str, ...]:
    digits = int(entry["digits"])
    printed = _number(entry["printed"], digits, entry["unit"])
    if entry["printed"] is not None and not entry["unit"]:
        digits += 2  # two digits beyond the printed ones
    method = _number(entry["published_method"], digits, entry["unit"])
    ours = _number(entry["ours"], digits, entry["unit"])
    return entry["quantity"], printed, method, ours, _ratio(entry["ratio"]), entry["verdict"]


def _ratio(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if value < 0.01 else f"{value:.3f}"


def _spaced(note: str) -> str:
    """A space before every percent sign, as in the tables."""
    return re.sub(r"(?<=\d)%", " %", note)


def _number(value: float | None, digits: int, unit: str) -> str:
    if value is None:
        return "–"
    text = f"{value:.1e}" if 0.0 < abs(value) < 0.5 * 10.0**-digits else f"{value:.{digits}f}"
    return text + (f" {unit}" if unit else "")
