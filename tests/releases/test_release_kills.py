"""Killed at any instant, a release leaves no revealed number without its spend."""

import random
import subprocess
import sys
import time

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise.releases.ledger import Ledger

KILLS = 12

# Releases without end: each published hash is a line of its own on stdout.
ENDLESS = """
import sys
import pyarrow as pa
from leastnoise.releases.ledger import Ledger
from leastnoise.releases.mechanism import mechanism
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.run import release

plan = Plan("killed", None, "add/remove", (Statistic("count"),), 0.05, 1e-9, one_row_per_person=True)
table, made = pa.table({"x": list(range(1000))}), mechanism(plan)
release(plan, table=table, prepared=made)  # imports the engine
with Ledger(sys.argv[1]) as ledger:
    print("ready", flush=True)
    while True:
        done = release(plan, table=table, ledger=ledger, prepared=made)
        print(done.hash, flush=True)
"""


@pytest.mark.slow
def test_kills_at_random_instants(tmp_path):
    rng = random.Random(3)
    book, script = tmp_path / "ledger.db", tmp_path / "endless.py"
    script.write_text(ENDLESS, encoding="utf-8")
    with Ledger(book) as ledger:
        ledger.open_dataset("killed", epsilon=1000.0, delta=1e-3)
    revealed: list[str] = []
    for _ in range(KILLS):
        process = subprocess.Popen([sys.executable, str(script), str(book)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 2.0))
        process.kill()
        revealed += [line.strip() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        process.wait()
        process.stdout.close()
    with Ledger(book) as ledger:
        entries = ledger.entries("killed")
        assert ledger.check().ok
    noted = [entry.result_hash for entry in entries if entry.result_hash is not None]
    assert revealed
    assert set(revealed) <= set(noted)
    assert len(entries) - len(noted) <= KILLS  # at most the release that was under way is spent without a result
