"""Keys are matched as declared, the same on every engine; what matches none is counted,
and said."""

import json
from collections import Counter

import pytest

ibis = pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from leastnoise.errors import PlanError  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.noise.mechanism import mechanism  # noqa: E402
from leastnoise.releases.plan.keys import Key, case_variants  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.preview import outlook  # noqa: E402
from leastnoise.releases.release import release  # noqa: E402
from leastnoise.sampling import InsecureSeededEntropy  # noqa: E402
from releases import dirty_keys, engines, three_sets  # noqa: E402
from releases import real_tables as real  # noqa: E402

ALONE = {"one_row_per_person": True}
HEART = pytest.mark.skipif(
    not three_sets.HEART.exists(), reason="the heart data set is not beside the repository"
)


def released(statistics, source=None, table=None, epsilon=1.0, seed=1, **more):
    unit = more or ALONE
    plan = Plan("keys", source, "add/remove", statistics, epsilon, 1e-6, **unit)
    return release(plan, table=table, entropy=InsecureSeededEntropy(seed), not_private=True)


def numbers(done):
    return {(row.statistic, row.group): row for row in done.rows}


# Real tables


AIRCRAFT = {"person": "tailnum", "rows_per_person": 20, "groups_per_person": 2}


@pytest.mark.parametrize(
    ("declared", "is_same"),
    [([1, 2, 3], True), (["1.0", "2.0", "3.0"], True), (["1", "2", "3"], False)],
    ids=str,
)
def test_flights_by_month_written_with_a_point(tmp_path, declared, is_same):
    """The file says 1.0, as a frame with a missing value writes whole numbers; `month = [1, 2, 3]`
    is meant."""
    from leastnoise.releases.plan.source import CsvFile

    table = real.flights(10)
    written = table.set_column(
        table.column_names.index("month"),
        "month",
        pa.array([f"{m}.0" for m in table["month"].to_pylist()]),
    )
    by_month = Statistic("count", name="flights", group_by={"month": declared})
    path = real.as_csv(
        written.filter(pa.compute.less_equal(table["month"], 3)), tmp_path / "flights.csv"
    )
    done = released((Statistic("count"), by_month), CsvFile(path), epsilon=1.0, **ALONE)
    true = Counter(table["month"].to_pylist())
    found = numbers(done)
    for month, key in zip((1, 2, 3), declared, strict=True):
        row = found["flights", f"month = {key}"]
        assert abs(row.value - (true[month] if is_same else 0)) <= 2 * row.half_width
    (*cautions,) = done.cautions
    assert [
        "rows have a key in month that is none of the declared ones" in said for said in cautions
    ] == [True] * (not is_same)


@HEART
@pytest.mark.parametrize("declared", [[0, 1], [0.0, 1.0], ["0.0", "1.0"]], ids=str)
def test_the_heart_data_by_sex(declared):
    """The file says 1.0 and 0.0. `sex = [0, 1]` published noise around 0 and 0; the truth is 97 and
    206."""
    done = released(
        (Statistic("count", name="patients", group_by={"sex": declared}),),
        three_sets.source("heart", None),
    )
    found = numbers(done)
    titles = ["0.0", "1.0"] if isinstance(declared[0], str) else ["0", "1"]
    for title, truth in zip(titles, (97, 206), strict=True):
        row = found["patients", f"sex = {title}"]
        assert abs(row.value - truth) <= 2 * row.half_width
    other = found["rows with other keys", "sex"]
    assert abs(other.value) <= 2 * other.half_width
    assert other.half_width == row.half_width == 3.0  # one more cell of the histogram, for nothing
    assert done.cautions == ()


@HEART
def test_keys_that_no_row_has_are_said_before_the_numbers(tmp_path):
    done = released(
        (Statistic("count", name="patients", group_by={"sex": ["0", "1"]}),),
        three_sets.source("heart", None),
    )
    other = numbers(done)["rows with other keys", "sex"]
    assert abs(other.value - 303) <= 2 * other.half_width
    (said,) = done.cautions
    assert "rows have a key in sex that is none of the declared ones" in said
    assert json.loads(done.to_json())["read_first"] == [said]
    page = done.to_html()
    assert page.index("Before you read the numbers") < page.index("The numbers</h2>")
    assert "none of the declared ones" in done._repr_html_()
    assert "rows with other keys,other keys,sex" in done.to_csv()


@HEART
def test_the_terminal_says_it_before_the_numbers(tmp_path):
    from click.testing import CliRunner

    from leastnoise.cli import main

    names = ", ".join(f'"{name}"' for name in three_sets.HEART_COLUMNS)
    (tmp_path / "plan.toml").write_text(
        'name = "heart"\nepsilon = 1.0\ndelta = 1e-6\nrelation = "add/remove"\none_row_per_person '
        "= true\n"
        f'[source]\ncsv = "{three_sets.HEART}"\ncolumns = [{names}]\n'
        '[[statistic]]\nkind = "count"\nname = "patients"\ngroup_by = { sex = ["0", "1"] }\n'
    )
    shown = CliRunner().invoke(main, ["release", str(tmp_path / "plan.toml"), "--no-ledger"])
    assert shown.exit_code == 0, shown.output
    assert shown.output.index("Before you read the numbers: ") < shown.output.index("± 95 %")


@pytest.mark.parametrize(
    ("match", "north"),
    [("exact", 400), ("trim", 700), ("casefold", 1000)],
    ids=["exact", "trim", "casefold"],
)
def test_capitals_and_trailing_blanks(match, north):
    """Wards as three secretaries type them."""
    wards = (
        ["north"] * 400 + ["north "] * 300 + ["North"] * 200 + ["NORTH\t"] * 100 + ["south"] * 500
    )
    keys = {"ward": {"values": ["north", "south"], "match": match}}
    done = released(
        (Statistic("count", name="visits", group_by=keys),), table=pa.table({"ward": wards})
    )
    found = numbers(done)
    for group, truth in (("ward = north", north), ("ward = south", 500)):
        assert abs(found["visits", group].value - truth) <= 2 * found["visits", group].half_width
    other = found["rows with other keys", "ward"]
    assert abs(other.value - (1000 - north)) <= 2 * other.half_width
    assert bool(done.cautions) == (north < 1000)


def test_a_column_of_words_that_is_averaged(tmp_path):
    """Nothing of it is a number: all rows counted as the number for missing values, and nobody was
    told."""
    lines = ["dose", *("low", "high", "medium", '"1,5"') * 500]
    (tmp_path / "doses.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    from leastnoise.releases.plan.source import CsvFile

    dose = {"column": "dose", "lower": 0, "upper": 10, "pitch": 0.5, "missing": 5}
    mean = Statistic("mean", name="dose", **dose)
    done = released((mean, Statistic("count")), CsvFile(str(tmp_path / "doses.csv")))
    row = numbers(done)["persons with an unreadable value", "dose"]
    assert abs(row.value - 2000) <= 2 * row.half_width
    (said,) = done.cautions
    assert "have a value in dose that could not be read as a number" in said
    assert "statistics of this column have 5 in its place" in said  # and are about nobody's dose
    assert "about the others" not in said
    dropped = Statistic("mean", name="known", **{**dose, "missing": "drop"})
    (both,) = released(
        (mean, dropped, Statistic("count")), CsvFile(str(tmp_path / "doses.csv"))
    ).cautions
    assert "left out of some statistics of this column, and counts as 5 in others" in both
    (others,) = released(
        (dropped, Statistic("count")), CsvFile(str(tmp_path / "doses.csv"))
    ).cautions
    assert "statistics of this column are about the others" in others


def test_a_column_of_carriers_that_is_averaged(tmp_path):
    """Real flights: nothing of it is a number, and who has other keys too cannot be told then. It
    said nobody had."""
    from leastnoise.releases.plan.source import CsvFile

    table = real.flights(10)
    carrier = Statistic(
        "mean", name="carrier", column="carrier", lower=0, upper=10, pitch=1, missing="drop"
    )
    by_month = Statistic("count", name="flights", group_by={"month": [1, 2, 3]})
    path = real.as_csv(table, tmp_path / "flights.csv")
    done = released(
        (Statistic("persons"), by_month, carrier), CsvFile(path), epsilon=8.0, **AIRCRAFT
    )
    aircraft = len(real.flights_of(table))
    words = numbers(done)["persons with an unreadable value", "carrier"]
    assert abs(words.value - aircraft) <= 2 * words.half_width
    other = numbers(done)["persons with other keys", "month"]
    elsewhere = {flight["tailnum"] for flight in table.to_pylist() if flight["month"] > 3}
    assert other.lower <= len(elsewhere) <= other.upper
    assert other.value + other.half_width < len(elsewhere)  # where they are counted nobody is
    said, hidden = done.cautions
    assert "have a value in carrier that could not be read as a number" in said
    assert (
        "Whether most persons have a key in month that is none of the declared ones, or " in hidden
    )
    assert (
        f"of about {aircraft} are counted as having a value in carrier that is no number" in hidden
    )
    assert "What has another key is in no group." in hidden
    assert done.value("carrier") is None


@HEART
def test_a_check_that_can_see_nothing_says_so():
    """Ten means of 303 patients: words in a column would count as the middle, and 190 of them would
    not be seen."""
    done = release(
        three_sets.plan("heart", None), entropy=InsecureSeededEntropy(1), not_private=True
    )
    assert [row.group for row in done.rows if row.kind == "unreadable"] == list(
        three_sets.BOUNDS["heart"]
    )
    assert any("cannot be told" in said and "about 303" in said for said in done.cautions)
    dropped = Statistic("mean", column="chol", lower=100, upper=450, pitch=1, missing="drop")
    alone = released((dropped, Statistic("count")), three_sets.source("heart", None))
    (said,) = alone.cautions  # values that leave a mean unseen, too
    assert "Whether the values of chol could be read as numbers cannot be told" in said
    assert "What cannot be read is left out of its statistics." in said


# Persons with several rows


UNIT = {"person": "id", "rows_per_person": 200, "groups_per_person": 2}
VISITS = (
    Statistic("persons", name="patients"),
    Statistic("mean", column="stay", lower=0, upper=20, pitch=1, missing="drop"),
    Statistic("count", name="visits", group_by={"ward": ["north", "south"]}),
)


def visits(persons, typed):
    """Ten visits each; some of the persons have a ward that is typed otherwise in all of theirs."""
    ids = [f"p{i}" for i in range(persons) for _ in range(10)]
    wards = [
        "North" if i < typed else ("north", "south")[i % 2]
        for i in range(persons)
        for _ in range(10)
    ]
    return pa.table({"id": ids, "ward": wards, "stay": [3.0] * len(ids)})


def test_other_keys_of_persons_with_many_rows_are_seen():
    """Counted in rows the cell had ± 82,000 of them at epsilon = 1 and 200 rows a person: 6,000
    rows were nothing."""
    done = released(VISITS, table=visits(2000, 600), **UNIT)
    row = numbers(done)["persons with other keys", "ward"]
    assert abs(row.value - 600) <= 2 * row.half_width
    assert row.half_width < 210
    (said,) = done.cautions
    assert "persons have a key in ward that is none of the declared ones" in said
    assert " of about 2,0" in said or " of about 1,9" in said
    quiet = release(
        done.plan,
        table=visits(2000, 0),
        prepared=done.mechanism,
        entropy=InsecureSeededEntropy(1),
        not_private=True,
    )
    assert quiet.cautions == ()
    # Of 300 patients it can see nobody, and says so.
    few = release(
        done.plan,
        table=visits(300, 90),
        prepared=done.mechanism,
        entropy=InsecureSeededEntropy(1),
        not_private=True,
    )
    assert any(
        "Whether the keys in ward are the declared ones cannot be told" in said
        for said in few.cautions
    )
    assert any("What has another key is in no group." in said for said in few.cautions)


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("groupings", [1, 5])
def test_persons_with_other_keys_share_the_noise_of_the_checks(groupings, relation):
    """However many groupings there are: a cell each had ± 400 to 1,200 persons instead of ± 200."""
    from leastnoise.releases.noise.layout import layouts
    from leastnoise.releases.noise.sensitivity import blocks

    counts = tuple(
        Statistic("count", group_by={f"g{i}": ["a", "b", "c"]}) for i in range(groupings)
    )
    plan = Plan("g", None, relation, (Statistic("persons"), *counts), 1.0, 1e-6, **UNIT)
    for layout in layouts(blocks(plan), blocks(plan, joint=True)):
        assert layout.check_uses == (1 if relation == "add/remove" else 2)
        others = [e for e in layout.entries if e.answer.measure == "other keys" or e.group == 3]
        assert len(others) == groupings  # every grouping has its cell
        assert {e.sensitivity for e in others} == {1}


def test_a_free_cell_counts_persons_and_costs_nothing():
    """In one group each: a cell of the histogram more, in persons where the others are in rows."""
    by_ward = (Statistic("count", name="visits", group_by={"ward": ["north", "south"]}),)
    done = released(
        by_ward, table=visits(500, 200), **{**UNIT, "rows_per_person": 5, "groups_per_person": 1}
    )
    found = numbers(done)
    # Who has rows in north and in North is in north alone, so the cell says whom it has.
    other, declared = (
        found["persons with other keys in no declared group", "ward"],
        found["visits", "ward = north"],
    )
    assert abs(other.value - 200) <= 2 * other.half_width
    assert other.half_width == pytest.approx(declared.half_width / 5)
    (said,) = done.cautions
    assert (
        "persons in no declared group have a key in ward that is none of the declared ones" in said
    )


def test_who_fills_up_their_rows_under_declared_keys_is_a_person_with_other_keys_all_the_same():
    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.noise.sensitivity import blocks

    by_ward = (Statistic("count", group_by={"ward": ["north", "south", "west"]}),)
    plan = Plan(
        "w",
        None,
        "add/remove",
        by_ward,
        1.0,
        1e-6,
        person="id",
        rows_per_person=2,
        groups_per_person=2,
    )
    opened = open_table(plan, pa.table({"id": ["p"] * 6, "ward": ["north"] * 3 + ["North"] * 3}))
    try:
        counts = aggregate(plan, opened, blocks(plan)[0])
    finally:
        opened.close()
    assert counts == {("north",): (2,), ("south",): (0,), ("west",): (0,), ("other",): (1,)}


# What it costs


def test_other_keys_cost_nothing_where_a_person_is_in_one_group():
    from dataclasses import replace

    from leastnoise.releases.noise.layout import layouts
    from leastnoise.releases.noise.search import best
    from leastnoise.releases.noise.sensitivity import blocks

    counted = (Statistic("count", group_by={"g": ["a", "b", "c"]}),)
    plan = Plan("g", None, "add/remove", counted, 1.0, 1e-6, **ALONE)
    made, asked = mechanism(plan), blocks(plan)
    bare = layouts([replace(asked[0], other=None)], [replace(asked[0], other=None)])
    assert best(bare, 1.0, 1e-6)[1].scale == pytest.approx(made.laws[0].noise.std, rel=1e-9)
    assert [len(drawn.entries) for drawn in made.draws] == [1, 1, 1, 1]
    assert made.spends[0].uses == 1


DROP = {"lower": 0, "upper": 100, "pitch": 1, "missing": "drop"}
PLANS = {
    "a mean": (Statistic("mean", column="x", **DROP),),
    "a mean by group beside a count": (
        Statistic("mean", column="x", group_by={"g": [1, 2, 3]}, **DROP),
        Statistic("count", group_by={"g": [1, 2, 3]}),
    ),
    "ten sums": tuple(Statistic("sum", column=f"x{i}", **DROP) for i in range(10)),
    "more sums than are drawn together": tuple(
        Statistic("sum", column=f"x{i}", **DROP) for i in range(120)
    ),
}


@pytest.mark.parametrize(
    "unit",
    [ALONE, {"person": "id", "rows_per_person": 5, "groups_per_person": 3}],
    ids=["rows", "persons"],
)
@pytest.mark.parametrize("name", PLANS)
def test_checks_cost_less_than_two_percent_of_accuracy(monkeypatch, name, unit):
    """Measured: 1.5 % for a few answers, 0.1 % for 120."""
    from dataclasses import replace

    from leastnoise.releases.noise import mechanism as module
    from leastnoise.releases.noise.sensitivity import blocks, is_checks

    plan = Plan(name, None, "add/remove", PLANS[name], 1.0, 1e-6, **unit)
    made = mechanism(plan)
    without = [replace(block, other=None) for block in blocks(plan) if not is_checks(block)]
    monkeypatch.setattr(module, "blocks", lambda plan, joint=False: tuple(without))
    bare = mechanism(plan)
    stds = {(e.block, e.group, e.answer): made.std(i) for i, e in enumerate(made.entries)}
    for i, e in enumerate(bare.entries):
        assert stds[e.block, e.group, e.answer] <= 1.02 * bare.std(i)


def test_the_preview_says_how_much_the_checks_can_see():
    plan = Plan(
        "p", None, "add/remove", PLANS["a mean by group beside a count"], 1.0, 1e-6, **ALONE
    )
    ahead = {row.statistic: row for row in outlook(plan, mechanism(plan))}
    assert ahead["rows with other keys: g"].half_width == ahead["count by g"].half_width
    assert 190 < ahead["persons with an unreadable value: x"].half_width < 210


# Contribution bounds


def test_other_keys_change_nothing_about_what_is_asked():
    """Rows under undeclared keys neither take a declared group's place nor a row's."""
    rows, schema = dirty_keys.table(5)
    for unit in dirty_keys.UNITS:
        wanted = dirty_keys.plan("casefold", **unit)
        found = dirty_keys.integers(wanted, dirty_keys.arrow(rows, schema))
        for block, counts in zip(mechanism_blocks(wanted), found, strict=True):
            if not block.group_by:
                continue
            others = {tuple(key.other for key in block.group_by)}
            kept = [row for row in rows if dirty_keys.reference.group_of(row, block) not in others]
            less = dirty_keys.reference.aggregate(wanted, kept, block)
            assert {g: counts[g] for g in block.groups} == {g: less[g] for g in block.groups}
            assert block.other is None or less[block.cells[-1]] == (0,)


def mechanism_blocks(plan):
    return dirty_keys.every_block(plan)


def in_duckdb(collation=""):
    connected = ibis.duckdb.connect()

    def stored(rows, schema):
        connected.con.register("given", dirty_keys.arrow(rows, schema))
        connected.raw_sql(
            f"CREATE OR REPLACE TABLE t (id VARCHAR{collation}, word VARCHAR{collation}, x "
            "DOUBLE, n BIGINT, flag BOOLEAN)"
        )
        connected.raw_sql("INSERT INTO t SELECT * FROM given")
        connected.con.unregister("given")
        return connected.table("t")

    return stored


@pytest.mark.parametrize(
    "collation",
    ["", " COLLATE NOCASE", " COLLATE NOCASE.NOACCENT"],
    ids=["bytes", "case", "accents"],
)
def test_dirty_keys_in_duckdb(collation):
    dirty_keys.agrees_with_the_slow_form(in_duckdb(collation))


def test_dirty_keys_in_frames():
    import polars

    dirty_keys.agrees_with_the_slow_form(dirty_keys.arrow, dirty_keys.EVERY)
    dirty_keys.agrees_with_the_slow_form(
        lambda rows, schema: polars.from_arrow(dirty_keys.arrow(rows, schema)), seed=1
    )


@pytest.mark.parametrize(
    ("match", "unit"),
    list(zip(dirty_keys.MATCHES, dirty_keys.UNITS[1:], strict=True)),
    ids=dirty_keys.MATCHES,
)
def test_no_person_moves_more_than_derived(match, unit):
    """However coarse the matching is: a person's groups are counted after it."""
    dirty_keys.no_person_moves_more_than_derived(dirty_keys.arrow, match, unit, persons=4)


@pytest.fixture(scope="module")
def spark():
    with engines.spark() as connected:
        yield connected


@pytest.fixture(scope="module")
def postgres():
    with engines.postgres() as connected:
        connected.raw_sql(
            "CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic "
            "= false)"
        )
        connected.con.commit()
        yield connected


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind",
    [
        "text COLLATE no_case",
        *(pytest.param(k, marks=pytest.mark.long) for k in ("text", "varchar(30)")),
    ],
)
def test_dirty_keys_in_postgres(postgres, kind):
    def stored(rows, schema):
        postgres.raw_sql("DROP TABLE IF EXISTS dirty")
        postgres.raw_sql(
            f"CREATE TABLE dirty (id {kind}, word {kind}, x float8, n bigint, flag boolean)"
        )
        with postgres.con.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO dirty VALUES (%s, %s, %s, %s, %s)",
                [tuple(row.values()) for row in rows],
            )
        postgres.con.commit()
        return postgres.table("dirty")

    dirty_keys.agrees_with_the_slow_form(stored, seed=2)
    dirty_keys.no_person_moves_more_than_derived(stored, "casefold", dirty_keys.UNITS[1], persons=3)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.long
@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UTF8_BINARY"])
def test_dirty_keys_in_spark(spark, collation):
    session = spark._session

    def stored(rows, schema):
        kinds = "id string, word string, x double, n bigint, flag boolean"
        session.createDataFrame(
            [tuple(row.values()) for row in rows], kinds
        ).createOrReplaceTempView("raw_dirty")
        text = (
            f"SELECT id COLLATE {collation} AS id, word COLLATE {collation} AS word, x, n, "
            "flag FROM raw_dirty"
        )
        session.sql(text).createOrReplaceTempView("dirty")
        return spark.table("dirty")

    dirty_keys.agrees_with_the_slow_form(stored, seed=2)


# Declarations


def test_labels_and_titles():
    key = Key("g", ("North ", 1.0, 2.5, True), match="casefold")
    assert key.labels == ("north", "1", "2.5", "true")
    assert key.titles == ("North ", "1", "2.5", "true")
    assert Key("g", ("other", "other'")).other == "other''"


def test_letters_whose_capital_is_another_letter():
    capitals, small = case_variants(
        ["straße", "ſ", "Ǆ"]
    )  # ß has a capital of two letters; ſ is an old s
    plain = {letter.upper(): letter for letter in "strae"}
    assert dict(zip(capitals, small, strict=True)) == {**plain, "ſ": "s", "Ǆ": "ǆ", "ǅ": "ǆ"}


@pytest.mark.parametrize(
    ("column", "declared", "said"),
    [
        (pa.array([1, 2]), ["one"], "declare whole numbers"),
        (pa.array([1, 2]), ["01"], "declare whole numbers"),
        (pa.array([1, 2]), [1.5], "declare whole numbers"),
        (pa.array([1, 2]), [True], "declare whole numbers"),
        (pa.array([1.0, 2.0]), ["1"], "declare numbers, without quotes"),
        (pa.array([True, False]), ["yes"], "declare true and false"),
        (pa.array([b"x"]), ["x"], "they must be text, numbers or truth values"),
    ],
    ids=str,
)
def test_keys_that_a_column_can_never_have_are_refused_before_a_row_is_read(column, declared, said):
    plan = Plan(
        "t", None, "add/remove", (Statistic("count", group_by={"g": declared}),), 1.0, 1e-6, **ALONE
    )
    with pytest.raises(PlanError, match=said):
        open_table(plan, pa.table({"g": column}))


# Numbers and truth values


def test_truth_values_are_not_the_numbers_that_python_takes_them_for():
    numbered, truths = Key("x", (1, 0)), Key("x", (True, False))
    assert numbered != truths
    assert len({numbered, truths, Key("x", (1.0, 0.0))}) == 2  # 1.0 is the number 1
    within = [Key("y", ("a", "b"), within=above, under=(0, 1)) for above in (numbered, truths)]
    assert within[0] != within[1]


def test_a_plan_does_not_confuse_groupings_by_numbers_and_by_truth_values():
    asked = (
        Statistic("count", name="all"),
        Statistic("count", name="numbers", group_by={"x": [1, 0]}),
        Statistic("count", name="truths", group_by={"x": [True, False]}),
    )
    texts = {"1": 4000, "0": 3000, "true": 2000, "false": 1000}
    rows = pa.table({"x": [one for one, count in texts.items() for _ in range(count)]})
    done = numbers(released(asked, table=rows))
    expected = [
        (("numbers", "x = 1"), 4000), (("numbers", "x = 0"), 3000),
        (("truths", "x = true"), 2000), (("truths", "x = false"), 1000), (("all", ""), 10_000),
    ]  # fmt: skip
    for name, count in expected:
        assert abs(done[name].number - count) < 200, name
