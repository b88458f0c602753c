"""Progress bars that work in a notebook and in a terminal: `pip install "leastnoise[notebook]"`.

How laws, designs, releases and ledgers show themselves there is theirs: see `leastnoise.text.html`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from leastnoise.optional import required

Item = TypeVar("Item")


def progress(
    items: Iterable[Item], description: str = "", *, total: int | None = None
) -> Iterator[Item]:
    """The items, with a bar that works in a notebook and in a terminal: tqdm's where it
    is installed, else rich's.

    Args:
        items: What is gone through.
        description: What stands beside the bar.
        total: How many items there are, where they cannot be counted.

    Yields:
        The items, one after another.

    Raises:
        MissingExtraError: Neither tqdm nor rich is installed.
    """
    try:
        bar = required("tqdm.auto", "notebook").tqdm
    except ImportError:
        track = required("rich.progress", "notebook").track
        yield from track(items, description or "working", total=total)
        return
    yield from bar(items, desc=description or None, total=total)


def stages() -> Callable[[str, float], None]:
    """For `release(..., progress=stages())`: one bar for each stage, filled by its share.

    Raises:
        MissingExtraError: tqdm is not installed.
    """
    tqdm = required("tqdm.auto", "notebook").tqdm
    bars: dict[str, Any] = {}

    def told(stage: str, share: float) -> None:
        if stage not in bars:
            bars[stage] = tqdm(
                total=100, desc=stage, bar_format="{desc}: {percentage:3.0f} %|{bar}| {elapsed}"
            )
        bars[stage].n = round(100 * min(max(share, 0.0), 1.0))
        bars[stage].refresh()
        if share >= 1.0:
            bars[stage].close()

    return told
