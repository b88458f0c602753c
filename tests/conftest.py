"""One hypothesis profile for all tests: the same examples on every run, no clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "leastnoise",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("leastnoise")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m portable` modules that have no such test are not even imported: with their engines,
    browsers and other libraries that takes longer than the tests."""
    if config.option.markexpr != "portable" or collection_path.suffix != ".py":
        return None
    return True if "mark.portable" not in collection_path.read_text(encoding="utf-8") else None
