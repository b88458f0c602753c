"""What the bounds of a plan leave out and clip is told with every release, with noise, and paid
for."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from leastnoise.ledger.ledger import Ledger
from leastnoise.releases import release as run
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.estimates.checks import checks
from leastnoise.releases.estimates.row import CHECKS, ReleasedRow
from leastnoise.releases.estimates.shares import share
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.plan import file as plan_file
from leastnoise.releases.release import release
from leastnoise.sampling import InsecureSeededEntropy
from releases import real_tables as real

CLINIC = Path(__file__).resolve().parents[2] / "examples" / "clinic.toml"


def load_plan(path):
    """The plan with a delta of its own: the file leaves it to the ledger."""
    return replace(plan_file.load_plan(path), delta=1e-9)


def seeded(plan, seed=1, **more):
    return release(plan, entropy=InsecureSeededEntropy(seed), not_private=True, **more)


def visits():
    with (CLINIC.parent / "clinic.csv").open(encoding="utf-8") as file:
        by_patient = {}
        for row in csv.DictReader(file):
            by_patient.setdefault(row["patient"], []).append(row)
    return by_patient


def is_beyond(text, lower, upper):
    try:
        return not lower <= float(text) <= upper
    except ValueError:
        return False


def is_word(text):
    try:
        return bool(text.strip()) and float(text) is None
    except ValueError:
        return True


def test_patients_of_the_clinic_are_counted_once_and_unreadable_values_first():
    plan = load_plan(CLINIC)
    made, opened = mechanism(plan), open_table(plan)
    try:
        *_, counted = run._counted(plan, opened, made, lambda stage, done: None)
    finally:
        opened.close()
    told = dict(
        zip([(one.kind, one.group) for one in checks(plan, made)], counted[()], strict=True)
    )
    patients = visits().values()
    words = [
        any(is_word(row[name]) for row in mine for name in ("age", "stay")) for mine in patients
    ]
    clipped = [
        any(is_beyond(row["stay"], 0, 20) or is_beyond(row["age"], 0, 100) for row in mine)
        for mine in patients
    ]
    wards = [{row["ward"].strip().lower() for row in mine} for mine in patients]
    inside = [len(mine & {"north", "south", "west"}) for mine in wards]
    many = [len(mine) > 4 or groups > 2 for mine, groups in zip(patients, inside, strict=True)]
    assert told["unreadable", "age"] + told["unreadable", "stay"] == sum(words) > 0
    # Noise is drawn for all answers at once, so other keys are among the checks, the second turn.
    others = [len(mine) > groups for mine, groups in zip(wards, inside, strict=True)]
    readable = [o for w, o in zip(words, others, strict=True) if not w]
    assert told["other keys", "ward"] == sum(readable) > 0
    each = zip(words, others, clipped, many, strict=True)
    rest = [c or m for w, o, c, m in each if not (w or o)]
    last = [one for one in told if one[0] not in ("unreadable", "other keys")]
    assert sum(told[one] for one in last) == sum(rest)
    assert told["clipped", "stay"] > 0
    assert told["left out", "more than 4 rows"] > 0


def test_most_values_clipped_is_said_before_the_numbers():
    """Stays bounded at one day: before, a mean of 0.97 days with a narrow ± was all
    that was told."""
    plan = load_plan(CLINIC)
    short = tuple(replace(one, upper=1) if one.column == "stay" else one for one in plan.statistics)
    done = seeded(replace(plan, statistics=short, epsilon=4.0), seed=2)
    truth = sum(any(is_beyond(row["stay"], 0, 1) for row in mine) for mine in visits().values())
    (row,) = [row for row in done.rows if (row.kind, row.group) == ("clipped", "stay")]
    low, _high = share(done.plan, done.rows, row)
    assert low > 0.5
    assert (
        row.value <= truth + row.half_width
    )  # who is counted under another check is not counted here
    (said,) = done.cautions
    assert "a value in stay beyond its bounds" in said
    assert "about 1,5" in said
    assert said in done.to_html().replace("&#x27;", "'")
    # With less epsilon a quarter of the patients could have unreadable values, and the check would
    # not see it.
    blind, keys = seeded(plan).cautions
    assert "Whether the values of age, stay could be read as numbers cannot be told" in blind
    assert "Whether the keys in ward are the declared ones cannot be told" in keys
    assert seeded(replace(plan, epsilon=2.0)).cautions == ()


def test_the_page_tells_the_bounds_the_shares_and_the_ledger(tmp_path):
    plan = load_plan(CLINIC)
    made = mechanism(plan)
    with Ledger(tmp_path / "book.db") as book:
        book.open_dataset("clinic", epsilon=3.0, delta=1e-6)
        first = release(plan, ledger=book, prepared=made)
        done = release(plan, ledger=book, prepared=made)
        spent, head = book.dataset("clinic").spent, book.head
        assert book.check(head=first.standing.head).ok
    assert (done.standing.spent, done.standing.head, done.standing.releases) == (spent, head, 2)
    page = done.to_html()
    for part in (
        f"<code>{head}</code>",
        "ε of all 2 releases so far",
        "Of each person at most 4 rows count, in at most 2 groups of each grouping",
        '<td>stay</td><td class="n">0 to 20</td><td class="n">0.1</td><td class="n">left out</td>',
        "persons with a value of stay beyond its bounds",
        "persons with more than 4 rows",
        "The share is of the persons, where their number is published, and not of the rows or "
        "values: how many rows one person "
        "loses has no bound",
        "so a count of values would need 4 times the noise",
    ):
        assert part in page
    content = json.loads(done.to_json())
    assert content["ledger"]["head"] == head
    assert content["bounds"]["columns"][1] == {
        "column": "stay",
        "lower": 0.0,
        "upper": 20.0,
        "pitch": 0.1,
        "missing": "drop",
    }
    assert [one["statistic"] for one in content["bounds"]["shares"]] == [
        row.statistic for row in done.rows if row.kind in CHECKS
    ]


def test_shares_come_from_published_numbers_alone():
    """The same rows give the same shares, whatever the table was."""
    done = seeded(load_plan(CLINIC))
    for row in done.rows:
        if row.kind in CHECKS:
            again = [
                ReleasedRow(
                    **{name: getattr(one, name) for name in ReleasedRow.__dataclass_fields__}
                )
                for one in done.rows
            ]
            at = [one.as_dict() for one in done.rows].index(row.as_dict())
            assert share(done.plan, again, again[at]) == share(done.plan, done.rows, row)
            low, high = share(done.plan, done.rows, row)
            assert 0.0 <= low <= high <= 1.0


def test_checks_move_what_is_asked_by_less_than_two_percent(monkeypatch):
    """Every person is in one cell of these, so more of them cost nothing beyond what unreadable
    values cost alone."""
    from leastnoise.releases.noise import mechanism as module
    from leastnoise.releases.noise.sensitivity import blocks, is_checks

    plan = load_plan(CLINIC)
    made = mechanism(plan)
    bare = [replace(block, other=None) for block in blocks(plan) if not is_checks(block)]
    monkeypatch.setattr(module, "blocks", lambda plan, joint=False: tuple(bare))
    bare = mechanism(plan)
    for i, entry in enumerate(bare.entries):
        assert made.std(made.entries.index(entry)) <= 1.02 * bare.std(i)


def test_results_have_a_column_for_each_key_and_whole_counts():
    done = seeded(load_plan(CLINIC))
    lines = list(csv.DictReader(done.to_csv().splitlines()))
    assert list(lines[0])[:9] == [
        "statistic",
        "kind",
        "group",
        "ward",
        "read_first",
        "value",
        "lower",
        "upper",
        "noise_std",
    ]
    assert [line["ward"] for line in lines if line["statistic"] == "visits"] == [
        "north",
        "south",
        "west",
    ]
    assert [line["ward"] for line in lines if line["kind"] == "other keys"] == ["all other keys"]
    counts = [line for line in lines if line["kind"] in ("count", "persons", *CHECKS)]
    assert all(
        line[name].lstrip("-").isdigit() for line in counts for name in ("value", "lower", "upper")
    )
    assert all(
        float(line["lower"]) <= float(line["value"]) <= float(line["upper"]) for line in lines
    )
    frame = done.to_pandas()
    assert frame.loc[frame["statistic"] == "visits", "ward"].tolist() == ["north", "south", "west"]


def test_a_key_called_like_a_column_of_the_results():
    import pyarrow as pa

    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    plan = Plan(
        "p",
        None,
        "add/remove",
        (Statistic("count", group_by={"value": ["a"]}),),
        1.0,
        1e-6,
        one_row_per_person=True,
    )
    done = seeded(plan, table=pa.table({"value": ["a"] * 40}))
    (line, *_) = csv.DictReader(done.to_csv().splitlines())
    assert line["value (key)"] == "a"
    assert abs(int(line["value"]) - 40) < 40


def test_rows_that_the_bound_of_a_group_leaves_out_are_counted():
    """Before, what `rows_per_group` left out was told by nothing."""
    import pyarrow as pa

    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.noise.sensitivity import blocks
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    visits = (
        [("p1", "a")] * 3
        + [("p2", "a"), ("p2", "b")]
        + [("p3", "a"), ("p3", "b"), ("p3", "c")]
        + [("p4", "x")] * 3
    )
    table = pa.table({"id": [person for person, _ in visits], "g": [group for _, group in visits]})

    def counted(**limits):
        by_group = Statistic("count", group_by={"g": ["a", "b", "c"]})
        plan = Plan(
            "p",
            None,
            "add/remove",
            (by_group,),
            1.0,
            1e-6,
            person="id",
            rows_per_person=4,
            **limits,
        )
        opened = open_table(plan, table)
        try:
            whole = aggregate(plan, opened, blocks(plan)[-1])[()]
        finally:
            opened.close()
        (cell,) = [
            check
            for check in checks(plan, mechanism(plan))
            if check.of.measure == "left out" and check.of.group_by
        ]
        return cell.group, whole[blocks(plan)[-1].answers.index(cell.of)]

    assert counted(groups_per_person=3, rows_per_group=2) == ("more than 2 rows in a group of g", 1)
    assert counted(groups_per_person=2) == ("more than 2 groups of g", 1)
    assert counted(groups_per_person=2, rows_per_group=2) == (
        "more than 2 groups of g, or more than 2 rows in one",
        2,
    )


def test_where_one_row_is_one_person_shares_are_of_rows():
    import pyarrow as pa

    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    mean = Statistic("mean", column="x", lower=0, upper=1, pitch=1, missing="drop")
    plan = Plan(
        "p", None, "add/remove", (mean, Statistic("count")), 2.0, 1e-6, one_row_per_person=True
    )
    done = seeded(plan, table=pa.table({"x": [0.0, 5.0] * 1000}))
    assert "a share of the persons is a share of the rows" in done.to_html()
    (row,) = [row for row in done.rows if row.kind == "clipped"]
    assert not row.is_hidden  # by nothing: one value is no number, or beyond its bounds
    assert " ± " in row.in_words()
    low, high = share(done.plan, done.rows, row)
    assert low < 0.5 < high


# Each person is counted under one check: the others are named after more than they count


def published(done):
    """The checks as every output has them: lower and upper end, and the shares, by statistic and
    group."""
    records = list(csv.DictReader(done.to_csv().splitlines()))
    content = json.loads(done.to_json())
    ends = {
        (one["statistic"], one["group"]): (float(one["lower"]), float(one["upper"]))
        for one in records
        if one["kind"] in CHECKS
    }
    told = {
        (one["statistic"], one["group"]): (one["lower"], one["upper"])
        for one in content["statistics"]
    }
    assert all(told[name] == ends[name] for name in ends)
    shares = {
        (one["statistic"], one["group"]): one["between"] for one in content["bounds"]["shares"]
    }
    notes = {(one["statistic"], one["group"]): one["note"] for one in records}
    return ends, shares, notes


def plainly(page):
    return " ".join(re.sub("<[^>]*>", " ", page).split())


@pytest.mark.parametrize("seed", range(3))
def test_real_flights_of_other_months_hide_who_has_more_rows_than_count(seed):
    """Nearly every aircraft flies in other months than the declared, and is counted as that:
    "persons with more than 20 rows: −2 ± 31, 0 to 7.2 %" was published, where 317 of 405 have
    more."""
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    flights = real.flights(10)
    statistics = (
        Statistic("persons"),
        Statistic("count", name="flights", group_by={"month": [1, 2, 3]}),
        Statistic(
            "mean", name="air", column="air_time", lower=0, upper=200, pitch=1, missing="drop"
        ),
    )
    unit = {"person": "tailnum", "rows_per_person": 20, "groups_per_person": 2}
    done = seeded(Plan("f", None, "add/remove", statistics, 8.0, 1e-6, **unit), seed, table=flights)
    fleet = {}
    for flight in flights.to_pylist():
        fleet.setdefault(flight["tailnum"], []).append(flight)
    own = list(fleet.values())
    true = {
        ("persons with other keys", "month"): sum(
            any(f["month"] > 3 for f in mine) for mine in own
        ),
        ("persons with an unreadable value", "air_time"): 0,
        ("persons with a clipped value", "air_time"): sum(
            any((f["air_time"] or 0) > 200 for f in mine) for mine in own
        ),
        ("persons with rows left out", "more than 20 rows"): sum(len(mine) > 20 for mine in own),
        ("persons with rows left out", "more than 2 groups of month"): sum(
            len({f["month"] for f in mine} & {1, 2, 3}) > 2 for mine in own
        ),
    }
    assert len(own) == 405
    assert true["persons with rows left out", "more than 20 rows"] == 317
    ends, shares, notes = published(done)
    for name, number in true.items():
        assert ends[name][0] <= number <= ends[name][1], name
        assert shares[name][0] <= number / 405 <= shares[name][1], name
        assert bool(notes[name]) == (name[0] != "persons with an unreadable value")
    # What is counted there is far from it.
    (row,) = [row for row in done.rows if row.group == "more than 20 rows"]
    assert row.value + 2 * row.half_width < 317
    assert row.in_words().startswith("0 to 4")
    page = plainly(done.to_html())
    assert (
        "Where a range stands in the place of a ±, a line may be about persons who are counted "
        "under another line" in page
    )
    assert f"persons with more than 20 rows what is more is left out {row.in_words()} –" in page
    keys, hidden = done.cautions
    assert "persons have a key in month that is none of the declared ones" in keys
    assert "or more than 20 rows, or more than 2 groups of month, cannot be told" in hidden
    assert "are counted as having a key in month that is none of the declared ones" in hidden
    lines = {
        (one["statistic"], one["group"]): one["read_first"]
        for one in csv.DictReader(done.to_csv().splitlines())
    }
    assert hidden in lines["air", ""]
    assert lines["persons", ""] == ""


def test_a_bound_that_leaves_out_a_quarter_of_the_rows_says_so():
    """1,000 of 4,000 persons have six rows where two count: 12,000 rows published as 8,000 were so
    without a word."""
    import pyarrow as pa

    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    asked = (Statistic("count", name="visits"), Statistic("persons"))
    plan = Plan("visits", None, "add/remove", asked, 2.0, 1e-6, person="who", rows_per_person=2)
    who = [i for i in range(4000) for _ in range(6 if i % 4 == 0 else 2)]
    done = seeded(plan, table=pa.table({"who": who}))
    (sentence,) = done.cautions
    assert "have more than 2 rows, and what is more than that is left out" in sentence
    assert {
        line["statistic"]: line["read_first"] for line in csv.DictReader(done.to_csv().splitlines())
    }["visits"] == sentence
    few = [
        i for i in range(4000) for _ in range(6 if i % 40 == 0 else 2)
    ]  # one in forty: what a bound is for
    assert seeded(plan, table=pa.table({"who": few})).cautions == ()


def test_words_in_one_column_hide_what_is_clipped_in_another():
    """All 4,000 values of y are clipped: "8.7 to 14 %" was published, and y = 10.0000 ± 0.0069
    without a word, as x has words."""
    import pyarrow as pa

    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    stated = {"lower": 0, "upper": 10, "pitch": 1, "missing": "drop"}
    means = (
        Statistic("mean", name="x", column="x", **stated),
        Statistic("mean", name="y", column="y", **stated),
    )
    plan = Plan(
        "f", None, "add/remove", (Statistic("count"), *means), 2.0, 1e-6, one_row_per_person=True
    )
    table = pa.table({"x": ["word"] * 3800 + ["1"] * 200, "y": [50.0] * 4000})
    done = seeded(plan, seed=2, table=table)
    true = {
        ("persons with an unreadable value", "x"): 3800,
        ("persons with an unreadable value", "y"): 0,
        ("persons with a clipped value", "x"): 0,
        ("persons with a clipped value", "y"): 4000,
    }
    ends, shares, _ = published(done)
    for name, number in true.items():
        assert ends[name][0] <= number <= ends[name][1], name
        assert shares[name][0] <= number / 4000 <= shares[name][1], name
    assert (
        shares["persons with a clipped value", "x"][1] < 0.2
    )  # words in x are not clipped, and those in y are few
    words, hidden = done.cautions
    assert "have a value in x that could not be read as a number" in words
    what = "a value in y that is no number, or a value in y beyond its bounds"
    assert hidden.startswith(
        f"Whether most persons have {what}, cannot be told: each person is counted under one "
        "check only, and "
    )
    assert "of about 4,001 are counted as having a value in x that is no number." in hidden
    beside = {
        line["statistic"]: line["read_first"] for line in csv.DictReader(done.to_csv().splitlines())
    }
    assert beside["y"] == hidden
    assert beside["x"] == words
    # Two columns that are clipped hide each other, too. Rows that are the same have one digest: all
    # of them are under y.
    both = seeded(plan, table=pa.table({"x": ["50"] * 4000, "y": [50.0] * 4000}))
    ends, shares, _ = published(both)
    assert all(shares["persons with a clipped value", name][1] == 1.0 for name in ("x", "y"))
    assert "a value in x beyond its bounds" in " ".join(both.cautions)
    assert "a value in y beyond its bounds" in " ".join(both.cautions)
    # Where nothing is hidden, nothing is said.
    assert seeded(plan, table=pa.table({"x": ["5"] * 4000, "y": [5.0] * 4000})).cautions == ()


def test_all_rows_and_those_of_the_groups_tell_other_keys_better_than_their_cell():
    """In one joint draw the cell had noise of its own, ± 408 of 1,000 rows, where
    counts have ± 7; now it is what the groups leave of all rows."""
    done, said = cautioned()
    cell = next(row for row in done.rows if (row.kind, row.group) == ("other keys", "ward"))
    assert cell.half_width <= 3 * 7
    number, width = (int(word) for word in said.split(" of about ")[0].split(" ± "))
    assert width <= 3 * 7
    assert abs(number - 600) <= 2 * width


# Every file says it too


def cautioned():
    import pyarrow as pa

    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    statistics = (
        Statistic("count"),
        Statistic("count", name="by ward", group_by={"ward": ["north", "south"]}),
        Statistic("count", name="by sex", group_by={"sex": ["f", "m"]}),
    )
    plan = Plan("w", None, "add/remove", statistics, 1.0, 1e-6, one_row_per_person=True)
    rows = {"ward": ["North"] * 600 + ["south"] * 400, "sex": ["f", "m"] * 500}
    done = seeded(plan, table=pa.table(rows))
    (said,) = done.cautions
    assert "rows have a key in ward that is none of the declared ones" in said
    return done, said


def about_wards(records):
    """The numbers that the caution stands beside."""
    return [(one["statistic"], one["group"]) for one in records if one["read_first"]]


WARDS = [("by ward", "ward = north"), ("by ward", "ward = south"), ("rows with other keys", "ward")]


def test_every_file_says_what_to_read_first(tmp_path):
    import pyarrow.parquet

    done, said = cautioned()
    content = done.to_json()
    assert json.loads(content)["read_first"] == [said]
    assert content.index('"read_first"') < content.index('"statistics"')
    lines = list(csv.DictReader(done.to_csv().splitlines()))
    assert about_wards(lines) == WARDS
    assert {line["read_first"] for line in lines} == {"", said}
    header = done.to_csv().splitlines()[0].split(",")
    assert header.index("read_first") < header.index("value")
    frame = done.to_pandas()
    assert frame.attrs["read_first"] == [said]
    assert frame.attrs["leastnoise"]["epsilon"] == done.epsilon
    assert about_wards(frame.to_dict("records")) == WARDS
    done.to_parquet(tmp_path / "numbers.parquet")
    for made in (done.to_arrow(), pyarrow.parquet.read_table(tmp_path / "numbers.parquet")):
        assert json.loads(made.schema.metadata[b"read_first"]) == [said]
        assert json.loads(made.schema.metadata[b"leastnoise"])["epsilon"] == done.epsilon
        assert about_wards(made.to_pylist()) == WARDS


def test_what_a_caution_is_about():
    """A sentence stands beside the numbers that it changes, and beside no others."""
    from leastnoise.releases.noise.sensitivity import Answer
    from leastnoise.releases.report.cautions import Caution

    plan = load_plan(CLINIC)
    by_ward, stay = plan.statistics[2].group_by, plan.statistics[3].values

    def about(check):
        names = Caution("", (check,)).statistics(plan)
        return [s.name for s in plan.statistics if s.name in names]

    assert about(Answer("other keys", group_by=by_ward)) == ["visits", "length of stay"]
    assert about(Answer("unreadable", column="age")) == ["age"]
    assert about(Answer("clipped", stay, "stay")) == ["length of stay"]
    assert about(Answer("clipped", replace(stay, upper=7.0), "stay")) == []
    assert about(Answer("left out")) == ["age", "visits", "length of stay"]
    assert about(Answer("left out", group_by=by_ward)) == ["visits", "length of stay"]


def test_a_check_knows_its_grouping_whatever_the_order_of_the_rows():
    """They were paired by their order, and a row too few or in another place went with another
    grouping."""
    done, said = cautioned()
    other = {row.group: row for row in done.rows if row.kind == "other keys"}
    backwards = tuple(reversed(done.rows))
    for rows in (backwards, tuple(row for row in done.rows if row is not other["sex"])):
        again = replace(done, rows=rows)
        assert again.cautions == (said,)
        assert share(done.plan, rows, other["ward"]) == share(done.plan, done.rows, other["ward"])


def test_a_few_in_each_of_many_columns_are_seen_together():
    """Each person is counted under one column: where all ten are words, a tenth of the persons is
    in each."""
    from leastnoise.releases.noise.sensitivity import Answer
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic
    from leastnoise.releases.report.cautions import cautions

    stated = {"lower": 0, "upper": 1, "pitch": 1, "missing": "drop"}
    means = tuple(Statistic("mean", column=f"x{i}", **stated) for i in range(10))
    plan = Plan(
        "p", None, "add/remove", (Statistic("count"), *means), 1.0, 1e-6, one_row_per_person=True
    )

    def said(whole, each, half_width, clamped=False):
        name = "persons with an unreadable value"
        before = {"unprocessed": -each} if clamped else {}
        cells = [
            ReleasedRow(
                name,
                "unreadable",
                f"x{i}",
                each,
                1.0,
                half_width,
                check=Answer("unreadable", column=f"x{i}"),
                **before,
            )
            for i in range(10)
        ]
        return cautions(plan, [ReleasedRow("count", "count", "", whole, 1.0, 2.0), *cells])

    (together,) = said(4000.0, 380.0, 200.0)
    assert together.sentence.startswith(
        "3,800 ± 640 of about 4,000 persons have a value that could not be read as a number"
    )
    assert together.statistics(plan) == {one.name for one in means}
    assert said(40000.0, 19.0, 200.0) == ()
    assert said(40000.0, 250.0, 200.0, clamped=True) == ()  # numbers put at zero say nothing
    (blind,) = said(4000.0, 19.0, 200.0)
    assert "that is counted to ± 640 persons, and there are about 4,000" in blind.sentence


@pytest.mark.parametrize("meant", [0, 300, 1000], ids=str)
def test_the_interval_of_a_hidden_check_misses_no_more_often_than_it_says(meant):
    """All 1,000 persons have other keys, so none is counted as having too many rows, however many
    have: 4,000 draws."""
    import math

    import numpy as np

    from leastnoise import LatticeNoise
    from leastnoise.releases.estimates.shares import with_hidden
    from leastnoise.releases.noise.sensitivity import Answer
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    by_ward = Statistic("count", group_by={"ward": ["a", "b", "c"]})
    statistics = (Statistic("persons"), by_ward)
    plan = Plan(
        "p",
        None,
        "add/remove",
        statistics,
        1.0,
        1e-6,
        person="id",
        rows_per_person=4,
        groups_per_person=2,
    )
    rate = 0.03
    law = LatticeNoise.from_weights([1.0], math.exp(-rate), domain="integer")
    width = law.interval(0.95)
    random = np.random.default_rng(4)
    draws = [random.geometric(1.0 - math.exp(-rate), (4000, 3)) for _ in range(2)]
    missed = 0
    for everybody, others, more in (draws[0] - draws[1]).astype(float):
        rows = [
            ReleasedRow("persons", "persons", "", 1000.0 + everybody, law.std, width),
            ReleasedRow(
                "o",
                "other keys",
                "ward",
                1000.0 + others,
                law.std,
                width,
                check=Answer("other keys", group_by=by_ward.group_by),
            ),
            ReleasedRow(
                "l", "left out", "more than 4 rows", more, law.std, width, check=Answer("left out")
            ),
        ]
        _, keys, hidden = with_hidden(plan, rows)
        assert (keys.is_hidden, hidden.is_hidden) == (False, True)
        assert hidden.lower <= hidden.value <= hidden.upper
        missed += not hidden.lower <= meant <= hidden.upper
    assert missed <= 0.05 * 4000


def test_a_public_number_of_values_is_no_number_of_persons_where_others_are_dropped():
    """Half of the rows have no value: shares of the persons were shares of the values."""
    from leastnoise.releases.estimates.shares import persons
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    stated = {"column": "x", "lower": 0, "upper": 1, "pitch": 1, "public_n": 500}
    for missing, known in (("drop", None), (0, (500.0, 0.0))):
        mean = Statistic("mean", missing=missing, **stated)
        assert (
            persons(Plan("p", None, "add/remove", (mean,), 1.0, 1e-6, one_row_per_person=True), [])
            == known
        )
