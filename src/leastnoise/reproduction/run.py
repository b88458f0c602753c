"""Compute, draw and write down: what `python -m leastnoise.reproduction` and
`leastnoise reproduce` call."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from leastnoise.reproduction.figures import figure
from leastnoise.reproduction.pages import write_pages
from leastnoise.reproduction.records import Record, compact, read_json, write_json
from leastnoise.reproduction.sweep import DEFAULT, Options


def _module(name: str) -> Any:
    return importlib.import_module(f"leastnoise.reproduction.{figure(name).module}")


def compute(name: str, quick: bool = False, options: Options = DEFAULT) -> Record:
    """The record of one figure or table; `quick` takes seconds and shows the path, not
    the numbers."""
    made = figure(name)
    began = time.perf_counter()
    found = _module(name).compute(quick=quick, options=options, **made.settings)
    # Cells kept from before count as well.
    seconds = max(time.perf_counter() - began, found.pop("sweep_seconds", 0.0))
    head = {"name": name, "title": made.title, "quick": quick, "seconds": round(seconds, 1)}
    return {**head, **compact(found)}


def draw(record: Record, path: Path) -> None:
    """The picture of a record; PNG or SVG by the suffix of `path`."""
    _module(str(record["name"])).draw(record, path)


def reproduce(
    names: Iterable[str],
    *,
    out: Path,
    quick: bool = False,
    options: Options | None = None,
    compute_again: bool = True,
) -> list[Path]:
    """Records and pictures in out/results, and the pages out/README.md and
    out/BEYOND.md over all records found there.

    Without `compute_again` the records are read from out/results and only drawn anew. Finished
    cells of the grids are kept in out/results too, unless `options` says where.
    """
    names = list(names)
    for name in names:
        figure(name)
    results = out / "results"
    results.mkdir(parents=True, exist_ok=True)
    options = Options(store=results) if options is None else options
    written = []
    for name in names:
        path = results / f"{name}.json"
        if compute_again:
            write_json(path, compute(name, quick, options))
        draw(read_json(path), path.with_suffix(".png"))
        written += [path, path.with_suffix(".png")]
    return [*written, *write_pages(out)]
