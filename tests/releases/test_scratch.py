"""What DuckDB writes when memory runs short: private while it is there, gone at the end, whatever
ends the process."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")

from leastnoise.errors import InvalidParameterError, PlanError  # noqa: E402
from leastnoise.ledger.ledger import Ledger  # noqa: E402
from leastnoise.releases.data import scratch as module  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.data.scratch import Ended, Scratch, remove_left_behind  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.release import release  # noqa: E402

PLAN = Plan(
    "scratch", None, "add/remove", (Statistic("count"),), 1.0, 1e-6, one_row_per_person=True
)
ROWS = pa.table({"x": [1] * 50})

# A table without end: every row another person, so that whoever counts must keep all of them.
ENDLESS = (
    "CREATE VIEW t AS SELECT 'person ' || (a.range * 1000000 + b.range) AS id FROM "
    "range(1000000) a, range(1000000) b"
)
ENDLESS_PLAN = """\
name = "endless"
epsilon = 1.0
delta = 1e-6
relation = "add/remove"
person = "id"
rows_per_person = 1
[source]
duckdb = "endless.duckdb"
table = "t"
[[statistic]]
kind = "count"
"""
# The program with so little memory that it must write rows to the disk at once.
PROGRAM = """\
import sys
from leastnoise.releases.data import duckdb_engine as duck
duck._CONFIGURATION.update(memory_limit="60MB", threads="2")
options = ["--ledger", "../budget.ledger", "--scratch", "../place"]
sys.argv = ["leastnoise", "release", "../plan.toml", *options]
from leastnoise.__main__ import run
run()
"""


def files(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


def until(condition, process):
    """Wait for an event in another process; its end is one too."""
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_rows_on_the_disk_are_private_and_do_not_outlive_the_process(name, tmp_path):
    number = getattr(signal, name)
    here, place = tmp_path / "here", tmp_path / "place"
    here.mkdir()
    place.mkdir()
    with duckdb.connect(str(tmp_path / "endless.duckdb")) as made:
        made.execute(ENDLESS)
    (tmp_path / "plan.toml").write_text(ENDLESS_PLAN, encoding="utf-8")
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("endless", epsilon=2.0, delta=1e-6)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def as_usual():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # who runs the tests may ignore it

    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=here, env=environment, preexec_fn=as_usual, **streams
    ) as process:
        try:
            until(lambda: sum(path.stat().st_size for path in files(place)) > 1_000_000, process)
            (folder,) = place.iterdir()
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert os.listdir(here) == []  # where they used to be, readable by all
            process.send_signal(number)
            said, told = process.communicate(timeout=300)
        finally:
            process.kill()
    assert os.listdir(here) == []
    assert sorted(os.listdir(tmp_path)) == [
        "budget.ledger",
        "endless.duckdb",
        "here",
        "place",
        "plan.toml",
    ]
    if name == "SIGKILL":
        assert process.returncode == -number
        assert list(place.iterdir()) == [folder]
        assert files(folder)
        Scratch(place).close()  # the next one that starts
    else:
        assert process.returncode == 128 + number
        assert said == ""
        assert (
            told
            == "leastnoise: Interrupted. The cost is in the ledger as release 3 and stays spent.\n"
        )
    assert list(place.iterdir()) == []


def test_a_release_leaves_nothing(tmp_path, monkeypatch):
    here, place = tmp_path / "here", tmp_path / "place"
    here.mkdir()
    place.mkdir()
    monkeypatch.chdir(here)
    seen = []

    def look(stage, share):
        seen.extend(place.iterdir())

    release(PLAN, table=ROWS, scratch=place, progress=look)
    assert {path.name.split("-")[0] for path in seen} == {"leastnoise"}
    assert list(place.iterdir()) == list(here.iterdir()) == []
    grouped = (Statistic("count", group_by={"g": ["a"]}),)
    wrong = Plan("scratch", None, "add/remove", grouped, 1.0, 1e-6, one_row_per_person=True)
    with pytest.raises(PlanError, match="no column 'g'"):
        release(wrong, table=ROWS, scratch=place)
    assert list(place.iterdir()) == []


def test_the_folder_is_in_the_systems_place_where_none_is_declared(tmp_path, monkeypatch):
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    table = open_table(PLAN, ROWS)
    (folder,) = tmp_path.iterdir()
    setting = (
        table.expression._find_backend()
        .con.execute("SELECT current_setting('temp_directory')")
        .fetchone()
    )
    assert setting == (str(folder.resolve()),)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    table.close()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_will_not_do_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("scratch", epsilon=2.0, delta=1e-6)
        for place in ("file", "missing"):
            with pytest.raises(
                InvalidParameterError, match="to be a folder in which files can be made"
            ):
                release(PLAN, table=ROWS, ledger=ledger, scratch=tmp_path / place)
        assert not ledger.entries()


def dead():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_what_dead_processes_of_this_user_left_is_removed(tmp_path):
    gone = dead()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    names = {
        "left": f"leastnoise-scratch-{gone}-aaaaaaaa",
        "new": f"leastnoise-scratch-{os.getpid()}-bbbbbbbb",
        "old": f"leastnoise-scratch-{os.getpid()}-cccccccc",
        "unlike": f"leastnoise-scratch-{gone}",
    }
    for name in names.values():
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_text("rows")
    os.utime(tmp_path / names["old"], (0, 0))
    (tmp_path / f"leastnoise-scratch-{gone}-dddddddd").symlink_to(tmp_path / "other")
    held = Scratch(tmp_path)  # of a living process: its lock is held
    remove_left_behind(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        "other",
        names["new"],
        names["unlike"],
        f"leastnoise-scratch-{gone}-dddddddd",
        held.path.name,
    }
    assert (tmp_path / "other" / "file").read_text() == "mine"
    held.close()


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away"
)
def test_what_others_left_is_theirs(tmp_path):
    theirs = tmp_path / f"leastnoise-scratch-{dead()}-aaaaaaaa"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    remove_left_behind(tmp_path)
    assert theirs.exists()


def test_a_lock_tells_the_living_from_the_dead(tmp_path):
    """Two containers may share a folder and not their processes' numbers."""
    held = Scratch(tmp_path)
    renamed = tmp_path / f"leastnoise-scratch-{dead()}-aaaaaaaa"
    held.path.rename(renamed)
    remove_left_behind(tmp_path)
    assert renamed.exists()
    held.close()
    remove_left_behind(tmp_path)
    assert not renamed.exists()


def test_a_forked_child_leaves_its_parents_folder_alone(tmp_path):
    program = (
        "import os, sys; from leastnoise.releases.data.scratch import Scratch\n"
        "folder = Scratch(sys.argv[1]); child = os.fork()\n"
        "if child == 0: sys.exit(0)\n"
        "os.waitpid(child, 0); print(folder.path.exists())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
    assert list(tmp_path.iterdir()) == []  # and the end of the process removed it


def test_signals_are_heard_only_as_long_as_there_is_a_folder(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    first, second = Scratch(tmp_path), Scratch(tmp_path)
    with pytest.raises(Ended) as caught:
        signal.raise_signal(signal.SIGTERM)
    assert caught.value.code == 143
    first.close()
    with pytest.raises(Ended):
        signal.raise_signal(signal.SIGTERM)
    second.close()
    second.close()
    assert signal.getsignal(signal.SIGTERM) is before


def test_somebody_elses_handler_stays(tmp_path):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        folder = Scratch(tmp_path)
        signal.raise_signal(signal.SIGTERM)
        folder.close()
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM] * 2
