"""README.md and BEYOND.md, written from the records alone, so that no number in them is typed by hand."""

from __future__ import annotations

import re
from pathlib import Path

from leastnoise.digits import with_uncertainty
from leastnoise.paper.common import HALVINGS, Record, read_json
from leastnoise.paper.run import NAMES

_HEAD = """# The paper, reproduced and surpassed

Every figure and table of *Optimizing Noise Distributions for Differential Privacy* (ICML 2025), computed by this package. This page
is written by `leastnoise.paper.pages` from the records in `results/`; do not edit it.

- **printed** is the number in the paper, a dash where none is printed.
- **Alg. 3** is the published method (`leastnoise.designer.published`) run here, with {halvings} halvings of the step instead of the
  printed 10, which favours it, and the law it ends with judged by our accountant.
- **ours** is this package; **ratio** is ours/printed, or ours/Alg. 3 where nothing is printed.
- All ε are certified upper bounds of the tight accountant unless "moments" is said.

Run it: `pip install ".[paper]"`, then `python -m leastnoise.paper all --out paper` (`--quick` for seconds instead of
minutes, `--processes N` or `--scheduler tcp://HOST:8786` for a Dask cluster; an interrupted run goes on where it stopped). The
seconds below are of two shared processor cores.
"""


def write_pages(out: Path) -> list[Path]:
    """The two pages over the records found in out/results."""
    records = {
        name: read_json(out / "results" / f"{name}.json")
        for name in NAMES
        if (out / "results" / f"{name}.json").exists()
    }
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
    heads = ("The order", "The stall", "Ripples and worst shifts", "Batches")
    lines = [
        "# Beyond the paper",
        "",
        "Written by `leastnoise.paper.pages` from `results/beyond.json`"
        + (" (quick form)" if record["quick"] else "")
        + f"; `python -m leastnoise.paper beyond --out paper`, {record['seconds']:.0f} s.",
        "",
        "![Order, stall, ripples, batches](results/beyond.png)",
    ]
    for head, note in zip(heads, record["notes"], strict=True):
        lines += ["", f"## {head}", "", _spaced(note)]
    lines += ["", "## In numbers", "", *_table(record["rows"])]
    return "\n".join(lines) + "\n"


def _overview(records: dict[str, Record]) -> list[str]:
    lines = [
        "| figure | command | seconds | quantity | printed | Alg. 3 | ours | ratio | verdict |",
        "|---|---|---:|---|---:|---:|---:|---:|---|",
    ]
    for name, record in records.items():
        for i, entry in enumerate(record["rows"] if name != "beyond" else []):
            head = (
                (
                    f"[{name}](#{name})",
                    f"`python -m leastnoise.paper {name}`",
                    f"{record['seconds']:.0f}",
                )
                if i == 0
                else ("", "", "")
            )
            if record["quick"] and i == 0:
                head = (head[0] + " (quick)", head[1] + " `--quick`", head[2])
            lines.append("| " + " | ".join((*head, *_cells(entry))) + " |")
    return lines


def _section(name: str, record: Record) -> list[str]:
    lines = [
        "",
        f"## {name}",
        "",
        f"{record['title']}.",
        "",
        f"![{record['title']}](results/{name}.png)",
        "",
    ]
    lines += [f"- {_spaced(note)}" for note in record["notes"]]
    if name == "table1":
        lines += _improvements(record)
        lines += [
            "",
            "The ten queries, each the mean of a feature rescaled by its 5th and 95th percentile and clipped to [0, 1]:",
            "",
        ]
        lines += [
            f"- {dataset}: {'; '.join(found)}." for dataset, found in record["queries"].items()
        ]
    return lines


def _improvements(record: Record) -> list[str]:
    epsilons = record["setting"]["epsilons"]
    lines = [
        "",
        "| less MSE than Gaussian, % | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |",
    ]
    lines.append("|---|" + "---:|" * len(epsilons))
    for dataset, mechanisms in record["improvement"].items():
        printed = [
            f"{mean:.2f} ± {std:.2f}" for mean, std in record["printed"][dataset]
        ]  # as the paper has them
        ours = {
            mechanism: [with_uncertainty(mean, std) for mean, std in values]
            for mechanism, values in mechanisms.items()
        }
        for mechanism, cells in {"printed": printed, **ours}.items():
            lines.append(f"| {dataset}, {mechanism} | {' | '.join(cells[: len(epsilons)])} |")
    if record["likely"]:
        lines += [
            "",
            "| σ, in sensitivities | printed ε | our ε at this σ | improvement over a Gaussian of the printed ε, % |",
        ]
        lines.append("|---:|---:|---:|---:|")
        for entry in record["likely"]:
            numbers = (
                f"{entry['printed_epsilon']:g}",
                f"{entry['our_epsilon']:.4f}",
                f"{entry['improvement_at_printed']:.2f}",
            )
            lines.append(f"| {entry['sigma']:g} | {' | '.join(numbers)} |")
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
    more = (
        2 if entry["printed"] is not None and not entry["unit"] else 0
    )  # two digits beyond the printed ones
    found = (
        _number(entry[key], digits + more, entry["unit"]) for key in ("published_method", "ours")
    )
    ratio = (
        "–"
        if entry["ratio"] is None
        else f"{entry['ratio']:.3g}"
        if entry["ratio"] < 0.01
        else f"{entry['ratio']:.3f}"
    )
    return (entry["quantity"], printed, *found, ratio, entry["verdict"])


def _spaced(note: str) -> str:
    """A space before every percent sign, as in the tables."""
    return re.sub(r"(?<=\d)%", " %", note)


def _number(value: float | None, digits: int, unit: str) -> str:
    if value is None:
        return "–"
    text = f"{value:.1e}" if 0.0 < abs(value) < 0.5 * 10.0**-digits else f"{value:.{digits}f}"
    return text + (f" {unit}" if unit else "")
