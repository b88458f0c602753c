"""Hostile files, made by hypothesis: every one is read or refused in a sentence, within its time
and memory.

So many of them that all take a quarter of a minute on two cores; `python -m benchmarks fuzz` takes
ten.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")

ROOT = Path(__file__).resolve().parents[1]
INPUTS = {
    "artefact": 250,
    "law": 400,
    "plan": 300,
    "ledger": 120,
    "release": 250,
    "answers": 500,
    "series": 150,
}


@pytest.mark.skipif(sys.platform != "linux", reason="the limits on memory are those of Linux")
@pytest.mark.parametrize("reader", INPUTS)
def test_no_file_is_a_crash(reader: str) -> None:
    command = [sys.executable, "-m", "benchmarks._fuzz", reader, str(INPUTS[reader]), "1"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["endings"] == []
    assert found["crashes"] == 0
    assert found["tried"] == INPUTS[reader]
    assert found["refused"] > 0.5 * found["tried"]
    # Of the files some are whole, and nothing reads a release back.
    assert (found["accepted"] > 0) == (reader != "release")


def test_every_reader_is_fuzzed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks._fuzz import READERS

    assert set(INPUTS) == set(READERS)
