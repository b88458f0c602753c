"""Eight processes release from one ledger and are killed at random instants: nothing overspent, nothing revealed without spend."""

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
from leastnoise.releases.ledger import Ledger

KILLS = 200
LONGEST = 2.5  # seconds a child lives at most: several releases, also with eight of them on two cores


def spent_by_laws(ledger, entries, delta):
    """ε of all releases, composed anew from the laws in the file."""
    uses = Counter()
    for entry in entries:
        for draws in entry.draws:
            uses[draws.law_hash, draws.sensitivity] += draws.uses
    losses = [PrivacyLoss.of(ledger.law(law), sensitivity).compose(count) for (law, sensitivity), count in uses.items()]
    return reduce(PrivacyLoss.compose, losses).epsilon(delta)


@pytest.mark.slow
def test_two_hundred_kills_of_eight_writers(tmp_path):
    script = Path(__file__).with_name("release_processes.py")
    threads = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(KILLS), str(LONGEST)], capture_output=True, text=True, env=threads
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {"killed": KILLS}
    revealed = [line.split() for line in (tmp_path / "revealed").read_text(encoding="utf-8").splitlines(keepends=True)[:-1]]
    with Ledger(tmp_path / "ledger") as ledger:
        assert ledger.check(every_entry=True).problems == ()
        entries = {str(entry.id): entry for entry in ledger.entries()}
        budgets = {dataset.name: dataset for dataset in ledger.datasets()}
        for name, budget in budgets.items():
            mine = ledger.entries(name)
            assert mine, name
            assert budget.spent <= budget.epsilon
            assert spent_by_laws(ledger, mine, budget.delta) <= budget.epsilon
    assert len(revealed) > KILLS // 10
    for number, plan_hash, result_hash in revealed:
        assert entries[number].plan_hash == plan_hash
        assert entries[number].result_hash == result_hash
    assert len({number for number, _, _ in revealed}) == len(revealed)
    unfinished = [entry for entry in entries.values() if entry.result_hash is None]
    assert len(unfinished) <= KILLS  # at most the release that a child was at when it was killed
