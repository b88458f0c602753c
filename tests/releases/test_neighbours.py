"""Nothing that can be observed of a release depends on the table but through the noisy numbers.

Pairs of neighbouring tables are released by the command line with the same seeded noise. The second
of each pair is given the noisy numbers of the first in the place of its own; whatever else differs
then has come from the rows by another way: what is printed, the exit code, every byte of every
file, the events of the ledger, the random bytes that were taken.
"""

import csv
import os
import random
import shutil
import sqlite3
from contextlib import contextmanager
from fractions import Fraction

import pytest
from click.testing import CliRunner

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from leastnoise.cli import main  # noqa: E402
from leastnoise.ledger import event_log  # noqa: E402
from leastnoise.ledger.ledger import Ledger  # noqa: E402
from leastnoise.releases import release as run  # noqa: E402
from leastnoise.releases.noise.mechanism import mechanism  # noqa: E402
from leastnoise.releases.plan.file import load_plan  # noqa: E402
from leastnoise.sampling.entropy import InsecureSeededEntropy  # noqa: E402
from leastnoise.series.opening import open_series  # noqa: E402
from releases import engines  # noqa: E402

PERSONS = """\
person = "id"
rows_per_person = 3
groups_per_person = 2
"""
ROWS = "one_row_per_person = true\n"
STATISTICS = """\
[[statistic]]
kind = "count"
[[statistic]]
kind = "mean"
column = "x"
lower = 0
upper = 100
pitch = 1
missing = "drop"
[[statistic]]
kind = "histogram"
group_by = { g = ["A", "B"] }
"""
FOUND = """\
[[statistic]]
kind = "persons"
group_by = { g = "discover" }
[[statistic]]
kind = "mean"
column = "x"
lower = 0
upper = 100
pitch = 1
missing = "drop"
group_by = { g = "discover" }
[[statistic]]
kind = "distinct"
column = "g"
"""
PLANS = {
    "persons": ("add/remove", PERSONS, ""),
    "persons replaced": ("replace", PERSONS, 'postprocess = ["non-negative", "integer"]\n'),
    "rows": ("add/remove", ROWS, 'postprocess = ["non-negative"]\n'),
    "quantiles": ("add/remove", PERSONS, ""),
}
QUANTILES = """\
[[statistic]]
kind = "quantile"
at = [0.25, 0.5]
column = "x"
lower = 0
upper = 20
pitch = 1
missing = "drop"
group_by = { g = ["A", "B"] }
"""
IDS = ["p1", "p2", "P1", "p1 ", "é", "", None]
NUMBERS = [
    "1",
    "2.5",
    "-7",
    " 3 ",
    "1e2",
    "99999999999",
    "1e999",
    "-inf",
    "NaN",
    "abc",
    "",
    "0x1",
    None,
    "'; --",
    "1" * 400,
]
KEYS = ["A", "B", "C", "a", " A", "", None, "secret"]


def plan_text(kind, source, statistics=STATISTICS):
    relation, bounds, more = PLANS[kind]
    head = (
        f'name = "neighbours"\nepsilon = 1.0\ndelta = 1e-6\nrelation = "{relation}"\n{bounds}{more}'
    )
    more_asked = QUANTILES if kind == "quantiles" else ""
    return f"{head}[source]\n{source}\n{statistics}{more_asked}"


def row(rng, person):
    return (person, rng.choice(NUMBERS), rng.choice(KEYS))


def pair(rng, kind):
    """Two tables that differ in one person, or one row; the rows of the second in another order."""
    people = rng.sample(IDS, rng.randrange(4))
    rows = (
        [row(rng, rng.choice(people)) for _ in range(rng.choice([0, 1, 5, 20]))] if people else []
    )
    if kind == "rows":
        other = [row(rng, rng.choice(IDS))]
        rest = list(rows)
    else:
        person = rng.choice([person for person in IDS if person is not None])
        rest = [one for one in rows if one[0] != person]
        other = [row(rng, person) for _ in range(rng.choice([0, 1, 2, 9]))]
        if kind in ("persons", "quantiles"):
            rest, other = (rows, []) if not other else (rest, other)
            rows = [one for one in rows if one[0] != person]  # with the person's rows, and without
    changed = [*rest, *other]
    rng.shuffle(changed)
    return rows, changed


_designed = {}


def designed(plan):
    """The noise follows from the plan alone, and is designed once."""
    if plan.hash not in _designed:
        _designed[plan.hash] = mechanism(plan)
    return _designed[plan.hash]


class Counted(InsecureSeededEntropy):
    """Seeded, and counts what is taken from it."""

    def __init__(self, seed):
        super().__init__(seed)
        self.taken = []

    def take(self, count):
        self.taken.append(count)
        return super().take(count)


NOW = "2025-01-01T00:00:00+00:00"


def observed(folder, number, forced, found=None):
    """All that is seen of one release, and its noisy numbers; with `forced` these are published
    instead. With `found` these keys are shown, and how many draws there were is not looked at: as
    many as the table has keys."""
    shutil.copy(folder.parent / "budget.ledger", folder / "budget.ledger")
    source, drawn = Counted(number), []
    noisy = run._noisy

    def noisy_or_forced(*given):
        drawn.append(noisy(*given))
        return drawn[0] if forced is None else forced

    out = ["r.csv", "r.json", "r.html", "r.parquet"]
    words = [
        "release",
        "../plan.toml",
        "--ledger",
        "budget.ledger",
        *(word for name in out for word in ("--out", name)),
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr(run, "_noisy", noisy_or_forced)
        if found is not None:
            searched = run._found
            patched.setattr(run, "_found", lambda *given: (searched(*given), found(*given))[1])
            source.take = lambda count: InsecureSeededEntropy.take(source, count)
        patched.setattr(run, "chosen", lambda entropy, not_private: source)
        patched.setattr(run, "mechanism", designed)
        patched.setattr(run, "now", lambda: NOW)
        patched.setattr(event_log, "now", lambda: NOW)
        done = CliRunner().invoke(main, words, prog_name="leastnoise")
    connection = sqlite3.connect(folder / "budget.ledger")
    events = connection.execute("SELECT * FROM events ORDER BY id").fetchall()
    connection.close()
    files = {
        name: (folder / name).read_bytes()
        for name in sorted(os.listdir(folder))
        if name != "budget.ledger"
    }
    size = (folder / "budget.ledger").stat().st_size
    for path in folder.iterdir():
        path.unlink()
    return (done.exit_code, done.stdout, done.stderr, files, events, size, source.taken), drawn


def compare(tmp_path, kind, source, put, pairs, seed, statistics=STATISTICS, found=None):
    """Release both tables of many pairs, and find no difference."""
    (tmp_path / "plan.toml").write_text(plan_text(kind, source, statistics), encoding="utf-8")
    with Ledger(tmp_path / "budget.ledger") as ledger:
        # A law that ends, which finds keys, needs its part of δ.
        ledger.open_dataset("neighbours", epsilon=2.0, delta=1e-6 if found is None else 1e-4)
    folder = tmp_path / "folder"
    folder.mkdir()
    rng, moved = random.Random(seed), 0
    for number in range(pairs):
        one, other = pair(rng, kind)
        put(one)
        before, numbers = observed(folder, number, None, found)
        assert before[0] == 0, before[2]
        assert len(before[3]) == 4
        put(other)
        after, others = observed(folder, number, numbers[0], found)
        assert after == before, (one, other)
        moved += numbers != others
    # Many pairs have other integers, so other noisy numbers: there was something to hide.
    assert moved > pairs / 5


@contextmanager
def in_duckdb(tmp_path):
    path = tmp_path / "table.duckdb"

    def put(rows):
        with duckdb.connect(str(path)) as made:
            made.execute("CREATE OR REPLACE TABLE t (id VARCHAR, x VARCHAR, g VARCHAR)")
            if rows:
                made.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)

    yield f'duckdb = "{path.as_posix()}"\ntable = "t"', put


BROKEN = {
    "an open quote": lambda values: '"' + values,
    "a field too many": lambda values: values + ",1,2",
    "a field too few": lambda values: values.split(",")[0],
    "no UTF-8": lambda values: values + "\udcff",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_tables_that_cannot_be_read_fail_alike(fault, tmp_path):
    """Whatever is in the line that the engine cannot read, and wherever it is."""
    path = tmp_path / "table.csv"
    (tmp_path / "plan.toml").write_text(
        plan_text("persons", f'csv = "{path.as_posix()}"'), encoding="utf-8"
    )
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("neighbours", epsilon=2.0, delta=1e-6)
    folder = tmp_path / "folder"
    folder.mkdir()
    rng, seen = random.Random(4), []
    for number in range(4):
        lines = [
            f"p{rng.randrange(99)},{rng.randrange(10**6)},{rng.choice('AB')}"
            for _ in range(rng.choice([3, 500, 9000]))
        ]
        at = rng.randrange(1, len(lines))
        lines[at] = BROKEN[fault](f"secret{number},{number * 17},A")
        path.write_bytes("\n".join(["id,x,g", *lines, ""]).encode("utf-8", "surrogateescape"))
        seen.append(observed(folder, 0, None)[0])
    assert seen[0][0] == 2
    assert not seen[0][3]  # no file is written
    assert "secret" not in repr(seen)
    assert all(one == seen[0] for one in seen)


@pytest.mark.parametrize("kind", [kind for kind in PLANS if kind != "quantiles"])
def test_no_person_moves_an_answer_of_a_series_by_more_than_its_sensitivity(
    kind, tmp_path, monkeypatch
):
    """What the kept numbers are added to, in sensitivities, for both tables of a few pairs."""
    (tmp_path / "plan.toml").write_text(plan_text(kind, 'csv = "t.csv"'), encoding="utf-8")
    asked, seen = load_plan(tmp_path / "plan.toml"), []
    series = open_series(tmp_path / "a", questions=9, sigma=20.0, delta=1e-6, plan=asked)
    monkeypatch.setattr(series, "_taken", lambda count: [(0, 0)] * count)
    monkeypatch.setattr(series, "_with_noise", lambda _, scaled: seen.append(scaled) or scaled)
    rng, furthest = random.Random(2), Fraction(0)
    for _ in range(4):
        for rows in pair(rng, kind):
            columns = zip(*rows, strict=True) if rows else ([], [], [])
            named = zip(("id", "x", "g"), columns, strict=True)
            table = pa.table({name: pa.array(of, "string") for name, of in named})
            series.release(asked, table=table, checks=True)
        one, other = seen[-2:]
        furthest = max(furthest, *(abs(a - b) for a, b in zip(one, other, strict=True)))
    assert furthest == 1


@pytest.fixture(scope="module")
def in_postgres():
    with engines.postgres() as connected:
        connected.raw_sql("CREATE TABLE t (id text, x text, g text)")

        def put(rows):
            with connected.con.cursor() as cursor:
                cursor.execute("TRUNCATE t")
                cursor.executemany("INSERT INTO t VALUES (%s, %s, %s)", rows)
            connected.con.commit()

        yield f'connection = "{connected.leastnoise_url}"\ntable = "t"', put


def _sql(value):
    return (
        "CAST(NULL AS STRING)"
        if value is None
        else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    )


@pytest.fixture(scope="module")
def in_spark():
    with engines.spark() as connected:

        def put(rows):
            lines = [
                f"SELECT {_sql(one)} AS id, {_sql(x)} AS x, {_sql(g)} AS g"
                for one, x, g in [*rows, (None, None, None)]
            ]
            # The last line is there for its types, and taken out again.
            numbered = [f"{line}, {at} AS place" for at, line in enumerate(lines)]
            query = (
                f"SELECT id, x, g FROM ({' UNION ALL '.join(numbered)}) WHERE place < {len(rows)}"
            )
            connected._session.sql(query).createOrReplaceTempView("t")

        yield 'connection = "spark://"\ntable = "t"', put


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("pairs", [3, pytest.param(50, marks=pytest.mark.long)])
def test_neighbours_on_duckdb(kind, pairs, tmp_path):
    with in_duckdb(tmp_path) as (source, put):
        compare(tmp_path, kind, source, put, pairs, seed=1)


@pytest.mark.parametrize("kind", ["persons", "persons replaced"])
@pytest.mark.parametrize("pairs", [3, pytest.param(50, marks=pytest.mark.long)])
def test_neighbours_with_keys_that_are_found(kind, pairs, tmp_path):
    """Which keys are shown is a noisy number; nothing else tells of the rows, not even an error
    where the keys of one of the tables cannot be written down."""

    def found(plan, *_):
        (key,) = plan.discovering
        return {(key, label): Fraction(number) for label, number in (("A", 90), ("secret", 85))}

    with in_duckdb(tmp_path) as (source, put):
        compare(tmp_path, kind, source, put, pairs, f"found {kind}", FOUND, found)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("pairs", [2, pytest.param(25, marks=pytest.mark.long)])
def test_neighbours_in_files(kind, ending, pairs, tmp_path):
    path = tmp_path / f"table.{ending}"

    def put(rows):
        if ending == "parquet":
            columns = zip(*rows, strict=True) if rows else ([], [], [])
            arrays = [pa.array(list(column), pa.string()) for column in columns]
            pq.write_table(pa.table(arrays, names=["id", "x", "g"]), path)
            return
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "x", "g"), *rows])

    compare(tmp_path, kind, f'{ending} = "{path.as_posix()}"', put, pairs, seed=5)


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("pairs", [2, pytest.param(35, marks=pytest.mark.long)])
def test_neighbours_on_postgres(kind, pairs, in_postgres, tmp_path):
    compare(tmp_path, kind, *in_postgres, pairs, seed=2)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("pairs", [2, pytest.param(15, marks=pytest.mark.long)])
def test_neighbours_on_spark(kind, pairs, in_spark, tmp_path):
    compare(tmp_path, kind, *in_spark, pairs, seed=3)
