"""Eight processes answer from one series and are killed at every instant: no number is revealed
twice, none before it is erased and counted. And what a process leaves that is killed while it opens
one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from releases.instants import COMMITTING, COUNTING, WAITING, WRITTEN
from series.series_processes import (
    ANSWERING,
    OPENED,
    OPENING,
    QUESTIONS,
    SYNCING,
    TORN,
    WRITING,
)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
TESTS = Path(__file__).parents[1]


def helper(*arguments):
    """What the module prints."""
    command = [sys.executable, "-m", "series.series_processes", *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=TESTS, check=False
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.parametrize("kind", ["charged", "alone"])
@pytest.mark.parametrize("rounds", [2, pytest.param(25, marks=pytest.mark.long)])
def test_kills_of_eight_processes_on_one_series(rounds, kind, tmp_path):
    """`long`: 200 kills with a ledger, 150 without."""
    instants = ANSWERING[kind == "charged"]
    found = helper("fleet", tmp_path, kind, rounds * len(instants))
    assert found["killed"] == dict.fromkeys(instants, rounds)
    assert found["faults"] == []
    number, is_right = found["last"]
    assert is_right
    assert number == found["used"] <= QUESTIONS
    # Each killed child lost one number at most; what it revealed is there.
    lost = found["used"] - 1 - found["revealed"]
    assert 0 <= lost <= rounds * len(instants)


# What a child leaves that is killed while it opens a series: whether the ledger was charged, and
# whether the series answers. Just gone on from an instant it may be at the next one already.
CHARGED = {COUNTING: True, OPENED: True}
WHOLE = {
    "charged": CHARGED,
    "alone": {SYNCING: True, OPENED: True},  # a kill is no power cut: what is written is there
}


@pytest.mark.parametrize("kind", ["charged", "alone"])
def test_kills_while_a_series_is_opened(kind, tmp_path):
    left = helper("openings", tmp_path, kind)
    instants = OPENING[kind == "charged"]
    assert [found["instant"] for found in left] == 2 * list(instants)
    entries = 0
    for found in left:
        assert found["names"] == ["a.series"]  # nothing under another name
        assert found["mode"] == 0o600
        place = instants.index(found["instant"])
        after = instants[min(place + 1, len(instants) - 1)] if found["after"] else None
        may_be = {
            WHOLE[kind].get(instant, False) for instant in (found["instant"], after) if instant
        }
        assert ("answered" in found) in may_be, found
        assert found.get("answered", 4) == 4
        if kind == "charged":
            assert not found["problems"]
            # What answers was charged; what was charged answers.
            assert found["entries"] - entries == ("answered" in found), found
            entries = found["entries"]
    assert {WRITING, TORN} <= set(instants)
    if kind == "charged":
        assert {WAITING, WRITTEN, COMMITTING} <= set(instants) - CHARGED.keys()
