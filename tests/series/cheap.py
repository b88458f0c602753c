"""Series that cost no design: a discrete Laplace law, drawn once for every question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from leastnoise import Ledger, discrete_laplace, exact
from leastnoise.laws.base import Noise
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.sampling.entropy import OperatingSystemEntropy
from leastnoise.series.kept_draw import slot_place
from leastnoise.series.opening import new_series
from leastnoise.series.series import Series
from leastnoise.series.slots import SLOT, Cipher

UNIT = {"relation": "", "person": "", "person_is": ""}
DATASET = "clinic"
BUDGET = {"epsilon": 500.0, "delta": 1e-6}


@cache
def law() -> Noise:
    return exact(discrete_laplace(300.0), delta=1e-6)


def cheap_series(path: str | Path, questions: int = 6, **options: Any) -> Series:
    """A new series; `options` as for `open_series`. What it states of its cost means nothing."""
    drawn = SampledLaw(law(), questions, "for tests")
    given = {"unit": UNIT, "source": OperatingSystemEntropy(), **options}
    return new_series(path, questions, drawn, 1.0, 1e-6, **given)


def charged_series(folder: Path, questions: int = 6, **options: Any) -> tuple[Series, Ledger]:
    """A new series `a.series`, and its ledger `a.ledger` beside it."""
    ledger = Ledger(folder / "a.ledger")
    ledger.open_dataset(DATASET, **BUDGET)
    options = {"ledger": ledger, "dataset": DATASET, **options}
    return cheap_series(folder / "a.series", questions, **options), ledger


def stored_numbers(path: str | Path, cipher: Cipher | None = None) -> list[int | None]:
    """The numbers in a file, read past all locks and checks; None where one is used or lost."""
    content = Path(path).read_bytes()
    digest, data = content.split(maxsplit=3)[2].decode("ascii"), content[slots_at(Path(path)) :]
    return [
        (cipher or Cipher()).value(data[SLOT * i : SLOT * (i + 1)], slot_place(digest, i))
        for i in range(len(data) // SLOT)
    ]


def header_of(path: Path) -> dict[str, Any]:
    """What a file says of itself."""
    found: dict[str, Any] = json.loads(path.read_bytes().split(b"\n", 1)[1][: _length(path)])
    return found


def _length(path: Path) -> int:
    return int(path.read_bytes().split(b"\n", 1)[0].split()[-1])


def slots_at(path: Path) -> int:
    """Where the slots of a file begin."""
    return len(path.read_bytes().split(b"\n", 1)[0]) + 1 + _length(path)


def overwritten(path: Path, at: int, content: bytes) -> None:
    """Change bytes of a file where they are, on the same inode."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def values(answers: Sequence[Any]) -> list[float]:
    return [one.value for one in answers]
