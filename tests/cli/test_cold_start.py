"""A command does not wait for packages that it has no use for."""

from __future__ import annotations

import subprocess
import sys

import pytest

# what takes long to import, and serves other commands or other laws
_HEAVY = ("scipy.optimize", "scipy.ndimage", "scipy.stats", "scipy.signal", "matplotlib", "pandas")
_RUN = """
import runpy, sys
sys.argv = ["leastnoise", *sys.argv[1:]]
try:
    runpy.run_module("leastnoise", run_name="__main__")
except SystemExit as end:
    print("ended with", end.code or 0, file=sys.stderr)
print("imported", *(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("design", "--delta", "1e-6", "--sigma", "8", "--compositions", "10"),
        ("design", "--delta", "1e-6", "--epsilon", "1"),
        ("account", "gaussian", "--sigma", "8", "--compositions", "10", "--delta", "1e-6"),
    ],
)
def test_nothing_heavy_is_imported(arguments):
    command = [sys.executable, "-c", _RUN.format(heavy=_HEAVY), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-2:] == ["ended with 0", "imported"]
