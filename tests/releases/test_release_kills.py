"""Eight processes release from one ledger and are killed at every instant: nothing overspent,
nothing revealed without spend."""

import json
import os
import subprocess
import sys
from collections import Counter
from functools import reduce
from pathlib import Path

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise import PrivacyLoss
from leastnoise.ledger.ledger import Ledger
from releases.instants import WAITING
from releases.release_processes import INSTANTS, RETURNED, REVEALED, targets

EVERY = (
    48  # every instant in the first, second and third release, held there and just gone on from it
)
TESTS = Path(__file__).parents[1]


def spent_by_laws(ledger, entries, delta):
    """ε of all releases, composed anew from the laws in the file."""
    uses = Counter()
    for entry in entries:
        for draws in entry.draws:
            uses[draws.judged] += draws.uses
    losses = [
        PrivacyLoss.of(ledger.law(law), sensitivity, changes).compose(count)
        for (law, sensitivity, changes), count in uses.items()
    ]
    return reduce(PrivacyLoss.compose, losses).epsilon(delta)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [EVERY, pytest.param(200, marks=pytest.mark.long)])
def test_kills_of_eight_writers(kills, tmp_path):
    planned = list(targets(kills))
    threads = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "releases.release_processes", str(tmp_path), str(kills)]
    run = subprocess.run(
        command, capture_output=True, text=True, env=threads, cwd=TESTS, check=False
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    certainly_revealed = told.pop("revealed")
    assert told == dict.fromkeys(INSTANTS, kills // len(INSTANTS))
    revealed = [
        line.split()
        for line in (tmp_path / "revealed").read_text(encoding="utf-8").split("\n")[:-1]
    ]
    with Ledger(tmp_path / "ledger") as ledger:
        assert ledger.check(every_entry=True).problems == ()
        entries = {str(entry.id): entry for entry in ledger.entries()}
        budgets = {dataset.name: dataset for dataset in ledger.datasets()}
        for name, budget in budgets.items():
            mine = ledger.entries(name)
            assert mine, name
            assert budget.spent <= budget.epsilon
            assert spent_by_laws(ledger, mine, budget.delta) <= budget.epsilon
    # A child killed in its second or third release has revealed one or two; refused ones ask for
    # the right to write more often.
    assert certainly_revealed >= sum(
        target.time - (target.instant != REVEALED)
        for target in planned
        if target.instant != WAITING
    )
    # One that has just gone on from the end of a release may have revealed it without having told
    # so.
    untold = sum(target.after for target in planned if target.instant == RETURNED)
    assert certainly_revealed <= len(revealed) <= certainly_revealed + untold
    for number, plan_hash, result_hash in revealed:
        assert entries[number].plan_hash == plan_hash
        assert entries[number].result_hash == result_hash
    assert len({number for number, _, _ in revealed}) == len(revealed)
    unfinished = [entry for entry in entries.values() if entry.result_hash is None]
    assert len(unfinished) <= kills  # at most the release that a child was at when it was killed
