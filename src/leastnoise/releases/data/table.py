"""A table that has been opened, and the one way in which its engine is asked: without its errors.

Errors of an engine may quote values: they are replaced by an EngineError without its cause.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from leastnoise.errors import EngineError, LeastNoiseError
from leastnoise.releases.plan.reading import Reading

_T = TypeVar("_T")
PARQUET_ADVICE = " If its files are damaged or not whole, write them again."


@dataclass(frozen=True, eq=False)
class Table:
    """A table in its engine, its columns checked by name and type; no row has been read for it."""

    expression: Any
    engine: str
    close: Callable[[], object] = lambda: None
    advice: str = ""  # what may be wrong with the table where its engine fails
    is_files: bool = False  # and nothing computed from them: they may be broken anywhere
    collations: bool = True  # whether its texts may be compared otherwise than letter by letter
    readings: Mapping[str, Reading] = field(default_factory=dict)  # as the plan declares them


def withheld(doing: str, work: Callable[[], _T], advice: str = "") -> _T:
    """The result of `work`; engine errors without their message, cause or context, for any of them
    may quote a private value.

    So may warnings: they are silenced.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except LeastNoiseError:
            raise
        except Exception as error:
            failed = type(error).__name__
    # Outside the handler, so that nothing of the engine's error hangs on this one.
    raise EngineError(
        f"The engine failed while {doing} ({failed}); its message is withheld because it may "
        f"quote data.{advice}"
    )
