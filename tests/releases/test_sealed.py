"""A sealed scan reads the table and nothing else, gives the same numbers, and never
runs unsealed."""

import ctypes
import errno
import io
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")
import pyarrow.parquet  # noqa: E402

from leastnoise.cli import main  # noqa: E402
from leastnoise.errors import EngineError, PlanError, UnsupportedError  # noqa: E402
from leastnoise.ledger.ledger import Ledger  # noqa: E402
from leastnoise.releases.data import closed_process as seal  # noqa: E402
from leastnoise.releases.data import sealed_scan as sealed  # noqa: E402
from leastnoise.releases.data.scratch import Scratch  # noqa: E402
from leastnoise.releases.data.sealed_scan import SealedTable  # noqa: E402
from leastnoise.releases.noise.sensitivity import blocks  # noqa: E402
from leastnoise.releases.plan.file import plan_from  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.source import Connection, CsvFile  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.release import release  # noqa: E402
from leastnoise.sampling.entropy import InsecureSeededEntropy  # noqa: E402

can_be_sealed = pytest.mark.skipif(seal.obstacle() is not None, reason=str(seal.obstacle()))
COUNT = (Statistic("count"),)

# Everything that a scan has no use for, tried from inside; prints what each attempt came to.
TRIALS = """\
import ctypes, errno, json, os, socket, sys, threading
from leastnoise.releases.data import closed_process as seal
table, other, folder = sys.argv[1:]
seal.seal([table], [folder])
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")

def in_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(result(lambda: open(other))))
    thread.start()
    thread.join()
    return found[0]

def in_a_child():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, result(lambda: open(other)).encode())
        os._exit(0)
    os.wait()
    return os.read(reading, 100).decode()

def result(attempt):
    try:
        found = attempt()
        return found if isinstance(found, str) else "done"
    except OSError as error:
        return errno.errorcode[error.errno]

x86 = os.uname().machine == "x86_64"
trials = {
    "read the table": lambda: open(table).read(),
    "write the table": lambda: open(table, "a"),
    "remove the table": lambda: os.remove(table),
    "read another file": lambda: open(other),
    "read another file from a thread": in_a_thread,
    "read another file from a child": in_a_child,
    "read another file by a link": lambda: (
        os.symlink(other, folder + "/link"), open(folder + "/link")
    ),
    "read another file by a hard link": lambda: os.link(other, folder + "/hard"),
    "list a folder": lambda: os.listdir("/"),
    "read the environment of another process": lambda: (
        open(f"/proc/{os.getppid()}/environ", "rb").read()
    ),
    "write to the folder": lambda: open(folder + "/rows", "w").write("rows"),
    "write beside the folder": lambda: open(folder + "/../rows", "w"),
    "make a folder beside it": lambda: os.mkdir(folder + "/../rows"),
    "internet": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "datagrams": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
    "sockets of the machine": lambda: socket.socket(socket.AF_UNIX),
    "raw sockets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "io_uring": lambda: call(425, 8, ctypes.create_string_buffer(200)),
    "another program": lambda: os.execv(sys.executable, ["python", "-c", ""]),
    "the memory of another process": lambda: call(101 if x86 else 117, 16, os.getppid(), 0, 0),
    "other namespaces": lambda: call(272 if x86 else 97, 0x10000000),
    "numbers of the other numbering": lambda: call(0x40000000 + 39) if x86 else call(198, 2, 1, 0),
}
print(json.dumps({name: result(trial) for name, trial in trials.items()}))
"""
DENIED, REFUSED = "EACCES", "EPERM"  # by Landlock, by the filter of calls
EXPECTED = {
    "read the table": "text",
    "write the table": DENIED,
    "remove the table": DENIED,
    "read another file": DENIED,
    "read another file from a thread": DENIED,
    "read another file from a child": DENIED,
    "read another file by a link": DENIED,
    "read another file by a hard link": "EXDEV",
    "list a folder": DENIED,
    "read the environment of another process": DENIED,
    "write to the folder": "done",
    "write beside the folder": DENIED,
    "make a folder beside it": DENIED,
    "internet": REFUSED,
    "datagrams": REFUSED,
    "sockets of the machine": REFUSED,
    "raw sockets": REFUSED,
    "io_uring": REFUSED,
    "another program": REFUSED,
    "the memory of another process": REFUSED,
    "other namespaces": REFUSED,
    "numbers of the other numbering": REFUSED,
}


def ran(program, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@can_be_sealed
def test_a_sealed_process_reaches_nothing_else(tmp_path):
    table, other, folder = tmp_path / "table", tmp_path / "other", tmp_path / "scratch"
    table.write_text("text")
    other.write_text("private")
    folder.mkdir()
    assert ran(TRIALS, table, other, folder) == EXPECTED
    assert sorted(os.listdir(tmp_path)) == ["other", "scratch", "table"]


@can_be_sealed
def test_a_process_with_threads_is_not_sealed():
    """They would stay outside."""
    program = """
import json, threading
from leastnoise.errors import UnsupportedError
from leastnoise.releases.data.closed_process import seal
done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
try:
    seal([], [])
except UnsupportedError as error:
    print(json.dumps(str(error)))
done.set()
"""
    assert ran(program) == "A process is sealed before it has threads; this one has 2."


def table(folder):
    rows = {
        "id": [f"p{k % 7}" for k in range(60)],
        "x": [float(k) for k in range(60)],
        "g": ["a", "b", "c"] * 20,
    }
    return pa.table(rows | {"n": list(range(60)), "t": [k % 2 == 0 for k in range(60)]})


def plan(source, folder, **more):
    statistics = [
        {"kind": "mean", "column": "x", "lower": 0, "upper": 100, "pitch": 1, "missing": "drop"},
        {"kind": "count", "group_by": {"g": ["a", "b"]}},
        {"kind": "persons", "group_by": {"n": {"edges": [0, 20, 60]}}},
    ]
    whole = {
        "name": "sealed",
        "epsilon": 1.0,
        "delta": 1e-6,
        "relation": "add/remove",
        "person": "id",
    }
    whole |= {
        "rows_per_person": 4,
        "groups_per_person": 2,
        "source": source,
        "statistic": statistics,
    }
    return plan_from(whole | more, folder=folder)


def written(kind, folder):
    rows = table(folder)
    if kind == "csv":
        (folder / "t.csv").write_bytes(
            b"id;x;g;n\n"
            + b"".join(b"p%d;%d;%s;%d\n" % (k % 7, k, b"abc"[k % 3 :][:1], k) for k in range(60))
        )
        return {"csv": "t.csv", "delimiter": ";"}
    if kind == "csv without header":
        (folder / "t.csv").write_bytes(
            b"".join(b"p%d,%d,%s,%d\n" % (k % 7, k, b"abc"[k % 3 :][:1], k) for k in range(60))
        )
        return {"csv": "t.csv", "columns": ["id", "x", "g", "n"]}
    if kind == "gzip":
        import gzip

        written("csv", folder)
        (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
        return {"csv": "t.csv.gz", "delimiter": ";"}
    if kind == "duckdb":
        with duckdb.connect(str(folder / "t.db")) as made:
            made.register("rows", rows)
            made.execute("CREATE TABLE t AS SELECT * FROM rows")
        return {"duckdb": "t.db", "table": "t"}
    pyarrow.parquet.write_table(rows.slice(0, 30), folder / "t1.parquet")
    pyarrow.parquet.write_table(rows.slice(30), folder / "t[2].parquet")
    return {"parquet": "t*.parquet" if kind == "pattern" else "t1.parquet"}


@can_be_sealed
@pytest.mark.parametrize(
    "kind", ["csv", "csv without header", "gzip", "parquet", "pattern", "duckdb"]
)
def test_the_numbers_are_the_same(kind, tmp_path):
    wanted = plan(written(kind, tmp_path), tmp_path)
    place = tmp_path / "scratch"
    place.mkdir()
    shares = []
    told = {"progress": lambda stage, share: shares.append((stage, share)), "scratch": place}
    found = [
        release(wanted, entropy=InsecureSeededEntropy(5), not_private=True, sealed=way, **told)
        for way in (False, True)
    ]
    assert [row.as_dict() for row in found[0].rows] == [row.as_dict() for row in found[1].rows]
    assert found[1].engine == "duckdb"
    assert ("scanning the table", 1.0) in shares
    assert list(place.iterdir()) == []


@can_be_sealed
def test_the_command_line_scans_sealed(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text("x\n" + "1\n" * 500)
    (tmp_path / "plan.toml").write_text(
        'name = "p"\nepsilon = 1.0\ndelta = 1e-6\nrelation = "add/remove"\none_row_per_person = '
        "true\n"
        '[source]\ncsv = "visits.csv"\n[[statistic]]\nkind = "count"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    words = ["release", "plan.toml", "--no-ledger", "--sealed", "--json"]
    done = CliRunner().invoke(main, words, prog_name="leastnoise")
    assert done.exit_code == 0, done.output
    assert abs(json.loads(done.stdout)["statistics"][0]["value"] - 500) < 100
    monkeypatch.setattr(seal, "obstacle", lambda: "a sealed scan needs Linux, and this is Plan 9")
    refused = CliRunner().invoke(main, words, prog_name="leastnoise")
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert refused.stderr == (
        "leastnoise: The table is not scanned: a sealed scan needs Linux, and this is Plan 9. "
        "Without the seal it can be, if you trust its files.\n"
    )


@pytest.mark.parametrize(
    ("system", "machine", "landlock", "said"),
    [
        ("darwin", "arm64", 7, "needs Linux"),
        ("win32", "AMD64", 7, "needs Linux"),
        ("linux", "s390x", 7, "needs a processor of type x86_64 or aarch64, and this is s390x"),
        ("linux", "x86_64", -1, "needs Landlock"),
        ("linux", "x86_64", 0, "needs Landlock"),
    ],
)
def test_where_the_system_cannot_seal_nothing_is_scanned_or_spent(
    system, machine, landlock, said, tmp_path, monkeypatch
):
    (tmp_path / "t.csv").write_text("x\n1\n")
    wanted = Plan(
        "sealed",
        CsvFile(str(tmp_path / "t.csv")),
        "add/remove",
        COUNT,
        1.0,
        1e-6,
        one_row_per_person=True,
    )
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("sealed", epsilon=2.0, delta=1e-6)
        monkeypatch.setattr(seal.sys, "platform", system)
        monkeypatch.setattr(seal.platform, "machine", lambda: machine)
        monkeypatch.setattr(seal, "_landlock", lambda: landlock)
        with pytest.raises(UnsupportedError, match=said):
            release(wanted, ledger=ledger, sealed=True)
        with pytest.raises(UnsupportedError, match=said):
            seal.seal([], [])
        assert not ledger.entries()


def test_what_is_no_file_is_not_scanned_sealed(tmp_path, monkeypatch):
    monkeypatch.setattr(seal, "obstacle", lambda: None)
    rest = ("add/remove", COUNT, 1.0, 1e-6)
    for source in (None, Connection("duckdb://t.db", "t"), Connection("postgresql://h/d", "t")):
        with pytest.raises(UnsupportedError, match="A sealed scan is of a file"):
            release(Plan("sealed", source, *rest, one_row_per_person=True), sealed=True)
    with pytest.raises(UnsupportedError, match="leave out table, or sealed"):
        release(
            Plan("sealed", None, *rest, one_row_per_person=True),
            table=pa.table({"x": [1]}),
            sealed=True,
        )
    with pytest.raises(PlanError, match="There is no file"):
        release(Plan("sealed", CsvFile("missing.csv"), *rest, one_row_per_person=True), sealed=True)


@can_be_sealed
def test_what_is_wrong_with_the_table_is_said_before_anything_is_spent(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "scratch").mkdir()
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("sealed", epsilon=2.0, delta=1e-6)
        with pytest.raises(
            PlanError, match="The table has no column 'id'; its first line names 2, and none"
        ):
            release(
                plan({"csv": "t.csv"}, tmp_path),
                ledger=ledger,
                sealed=True,
                scratch=tmp_path / "scratch",
            )
        assert not ledger.entries()
    assert os.listdir(tmp_path / "scratch") == []


@can_be_sealed
def test_an_engine_that_fails_quotes_nothing(tmp_path):
    rows = "id,x,g,n\n" + "p1,1,a,1\n" * 5 + "p1,1,a,1,PRIVATE\n"
    (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(EngineError, match="its message is withheld") as caught:
        release(plan({"csv": "t.csv"}, tmp_path), sealed=True)
    assert "PRIVATE" not in str(caught.value)


COUNTING = Plan("sealed", CsvFile("t.csv"), "add/remove", COUNT, 1.0, 1e-6, one_row_per_person=True)


def said_by(answers, tmp_path, monkeypatch):
    """A child that says these lines, whatever it is asked."""
    waits = "sys.stdin.read()" if answers else ""  # until it is ended, or ends at once
    loads = (
        "import json, pickle, sys; sys.path[:] = json.loads(sys.argv[1]); "
        "pickle.load(sys.stdin.buffer)"
    )
    program = f"{loads}; sys.stdout.write({answers!r}); sys.stdout.flush(); {waits}"
    monkeypatch.setattr(sealed, "_PROGRAM", program)
    monkeypatch.setattr(seal, "obstacle", lambda: None)
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x\n1\n")
    opened = SealedTable(COUNTING, blocks(COUNTING))
    try:
        return opened.counts(0)
    finally:
        opened.close()
        opened.close()


def test_what_a_child_may_say(tmp_path, monkeypatch):
    said = '["opened", true]\n["share", 2.5]\n["share", "x"]\n["counts", [[7]]]\n'
    assert list(said_by(said, tmp_path, monkeypatch).values()) == [(7,)]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "nonsense\n",
        "[" * 100_000 + "\n",
        '["failed", ["LedgerError", "x"]]\n',
        '["failed", ["EngineError", "x"]]\n',
        *(
            f'["opened", true]\n["counts", {found}]\n'
            for found in ("7", "[]", "[7]", "[[]]", "[[7, 7]]", "[[7], [7]]")
        ),
        *(
            f'["opened", true]\n["counts", {found}]\n'
            for found in ("[[7.0]]", '[["7"]]', "[[true]]", "[[null]]", "null")
        ),
    ],
)
def test_what_a_child_may_not_say(said, tmp_path, monkeypatch):
    """Who takes it over by a hostile file reaches nothing but the counts."""
    with pytest.raises(EngineError):
        said_by(said, tmp_path, monkeypatch)


def is_running(number):
    """Not gone, and not only waiting for somebody to notice that it has ended."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


@can_be_sealed
def test_no_child_and_no_rows_are_left_behind(tmp_path):
    """Killed in the midst of a scan, the parent cannot end the child: the kernel does."""
    place = tmp_path / "scratch"
    place.mkdir()
    with duckdb.connect(str(tmp_path / "endless.db")) as made:
        made.execute(
            "CREATE VIEW t AS SELECT a.range * b.range AS x FROM range(10000000) a, "
            "range(10000000) b"
        )
    program = """
import os, sys
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.data.sealed_scan import SealedTable
from leastnoise.releases.noise.sensitivity import blocks
from leastnoise.releases.plan.source import DuckDBTable
total = Statistic("sum", column="x", lower=0, upper=1, pitch=1, missing="drop")
source, limits = DuckDBTable(sys.argv[1], "t"), {"one_row_per_person": True, "max_rows": 10**14}
plan = Plan("p", source, "add/remove", (total,), 1.0, 1e-6, **limits)
table = SealedTable(plan, blocks(plan), scratch=sys.argv[2])
child = table._child.pid
print(child, open(f"/proc/{child}/task/{child}/children").read(), flush=True)
table._tell(b"0\\n")
os.kill(os.getpid(), 9)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "endless.db"), str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    processes = done.stdout.split()
    assert len(processes) == 2  # the one that loaded, and the one that is sealed
    try:
        deadline = time.monotonic() + 300
        while any(is_running(number) for number in processes):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        for number in filter(is_running, processes):
            os.kill(int(number), 9)
    assert len(list(place.iterdir())) == 1
    Scratch(place).close()  # the next one that starts
    assert list(place.iterdir()) == []


def test_the_errors_of_the_system_are_sentences(monkeypatch):
    assert errno.errorcode[errno.EACCES] == DENIED
    with pytest.raises(UnsupportedError, match="The system does not let a process seal itself"):
        seal._call("prctl", 10**6, 0, 0, 0, 0)
    with pytest.raises(UnsupportedError, match="could still read a file"):
        seal._prove()


def interpreted(code, machine, number):
    """What a filter of calls gives: the few instructions that it is made of."""
    steps = list(struct.iter_unpack("=HBBI", code))
    value, at = 0, 0
    while True:
        kind, then, otherwise, k = steps[at]
        at += 1
        if kind == 0x20:  # load: the number of the call, or the processor
            value = {0: number, 4: machine}[k]
        elif kind == 0x06:
            return k
        else:
            at += then if (value == k if kind == 0x15 else value >= k) else otherwise


@pytest.mark.parametrize("machine", seal._CALLS)
def test_the_filter_refuses_what_is_listed_and_nothing_else(machine, monkeypatch):
    found = []
    monkeypatch.setattr(seal, "_call", lambda name, *arguments: found.append((name, arguments)))
    seal._close_calls(machine)
    ((name, (_, _, program, _, _)),) = found
    assert name == "prctl"
    length = program._obj.length
    code = ctypes.string_at(
        ctypes.cast(ctypes.addressof(program._obj) + 8, ctypes.POINTER(ctypes.c_void_p))[0],
        8 * length,
    )
    kind, refused = seal._CALLS[machine]
    for number in range(1000):
        assert interpreted(code, kind, number) == (
            seal._REFUSE if number in refused else seal._ALLOW
        ), number
    for number in (0, 1, 41, 512):  # the other numbering of x86-64
        assert interpreted(code, kind, 0x40000000 + number) == seal._REFUSE
    for other in (0, 0x40000003, 0xC00000B8):
        assert interpreted(code, other, 0) == seal._KILL


@pytest.mark.skipif(sys.platform != "linux", reason="handles of paths are those of Linux")
@pytest.mark.parametrize("version", range(1, 9))
def test_every_right_that_a_version_knows_is_closed(version, tmp_path, monkeypatch):
    calls = []

    def call(name, number, *arguments):
        calls.append((number, arguments))
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(seal, "_call", call)
    monkeypatch.setattr(seal, "_landlock", lambda: version)
    (tmp_path / "table").write_text("")
    seal._close_files([str(tmp_path / "table")], [str(tmp_path)], ["/"])
    assert [number for number, _ in calls] == [444, 445, 445, 445, 446]
    told, size, _ = calls[0][1]
    handled, network, scoped = struct.unpack("=QQQ", told)
    assert handled == 2 ** {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16) - 1
    assert (network, scoped) == (3 if version >= 4 else 0, 3 if version >= 6 else 0)
    assert size == {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}.get(version, 24)
    granted = [struct.unpack("=Qi", rule[2])[0] for _, rule in calls[1:4]]
    assert granted[:2] == [1 << 2, 1 << 3]  # read the file, list the folder
    assert granted[2] & handled == granted[2]
    assert not granted[2] & 1  # nothing is run


@pytest.mark.parametrize(
    "kind", ["csv", "csv without header", "gzip", "parquet", "pattern", "duckdb"]
)
def test_what_a_child_does_but_for_the_seal(kind, tmp_path, monkeypatch):
    """In this process: loads by an example of the same kind, asks for the right doors, tries, says,
    counts."""
    wanted = plan(written(kind, tmp_path), tmp_path)
    place = tmp_path / "scratch"
    place.mkdir()
    asked, said = [], []
    monkeypatch.setattr(sealed.metadata, "version", sealed.metadata.version)  # put back at the end
    monkeypatch.setattr(seal, "seal", lambda *doors: asked.append(doors))
    monkeypatch.setattr(sealed.sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0\n1\n")))
    sealed._warm_up(wanted, blocks(wanted), str(place))
    sealed._count(
        wanted, blocks(wanted), str(place), lambda name, value: said.append((name, value))
    )
    ((readable, writable, listed),) = asked
    files = [path for path in readable if not path.startswith(("/proc/", "/sys/"))]
    assert files == [
        str(tmp_path / name) for name in sorted(os.listdir(tmp_path)) if name in TABLES[kind]
    ]
    assert writable == [str(place)]
    assert listed == ([str(tmp_path)] if kind == "pattern" else [])
    assert said[0] == ("opened", True)
    assert [name for name, _ in said if name != "share"] == ["opened", "counts", "counts"]


TABLES = {
    "csv": ["t.csv"],
    "csv without header": ["t.csv"],
    "gzip": ["t.csv.gz"],
    "parquet": ["t1.parquet"],
}
TABLES |= {"pattern": ["t1.parquet", "t[2].parquet"], "duckdb": ["t.db"]}


def test_what_fails_in_a_child_is_said(tmp_path):
    said = []
    for error in (PlanError("no column"), ValueError("PRIVATE")):
        with sealed._failures_said(lambda name, value: said.append((name, value))):
            raise error
    assert said == [
        ("failed", ["PlanError", "no column"]),
        ("failed", ["EngineError", "The sealed scan failed (ValueError)."]),
    ]
