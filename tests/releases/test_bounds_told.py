"""What the bounds of a plan leave out and clip is told with every release, with noise, and paid for."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from leastnoise.releases import plan_file, run
from leastnoise.releases.cautions import share
from leastnoise.releases.estimate import CHECKS, Row, checks
from leastnoise.releases.ledger import Ledger
from leastnoise.releases.mechanism import mechanism
from leastnoise.releases.run import release
from leastnoise.releases.table import open_table
from leastnoise.sampling import InsecureSeededEntropy

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
        counts = run._counted(plan, opened, made, lambda stage, done: None)[-1][()]
    finally:
        opened.close()
    told = dict(zip([(one.kind, one.group) for one in checks(plan, made)][1:], counts, strict=True))
    patients = visits().values()
    words = [any(is_word(row[name]) for row in mine for name in ("age", "stay")) for mine in patients]
    clipped = [any(is_beyond(row["stay"], 0, 20) or is_beyond(row["age"], 0, 100) for row in mine) for mine in patients]
    many = [
        len(mine) > 4 or len({row["ward"].strip().lower() for row in mine} & {"north", "south", "west"}) > 2 for mine in patients
    ]
    assert told["unreadable", "age"] + told["unreadable", "stay"] == sum(words) > 0
    rest = [c or m for w, c, m in zip(words, clipped, many, strict=True) if not w]
    assert sum(told[one] for one in told if one[0] != "unreadable") == sum(rest)
    assert told["clipped", "stay"] > 0
    assert told["left out", "more than 4 rows"] > 0


def test_most_values_clipped_is_said_before_the_numbers():
    """Stays bounded at one day: before, a mean of 0.97 days with a narrow ± was all that was told."""
    plan = load_plan(CLINIC)
    short = tuple(replace(one, upper=1) if one.column == "stay" else one for one in plan.statistics)
    done = seeded(replace(plan, statistics=short, epsilon=4.0))
    truth = sum(any(is_beyond(row["stay"], 0, 1) for row in mine) for mine in visits().values())
    (row,) = [row for row in done.rows if (row.kind, row.group) == ("clipped", "stay")]
    low, _high = share(done.plan, done.rows, row)
    assert low > 0.5
    assert row.value <= truth + row.half_width  # who is counted under another check is not counted here
    (said,) = done.cautions
    assert "a value in stay beyond its bounds" in said
    assert "about 1,5" in said
    assert said in done.to_html().replace("&#x27;", "'")
    assert seeded(plan).cautions == ()


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
    ):
        assert part in page
    content = json.loads(done.to_json())
    assert content["ledger"]["head"] == head
    assert content["bounds"]["columns"][1] == {"column": "stay", "lower": 0.0, "upper": 20.0, "pitch": 0.1, "missing": "drop"}
    assert [one["statistic"] for one in content["bounds"]["shares"]] == [row.statistic for row in done.rows if row.kind in CHECKS]


def test_shares_come_from_published_numbers_alone():
    """The same rows give the same shares, whatever the table was."""
    done = seeded(load_plan(CLINIC))
    for row in done.rows:
        if row.kind in CHECKS:
            again = [Row(**{name: getattr(one, name) for name in Row.__dataclass_fields__}) for one in done.rows]
            at = [one.as_dict() for one in done.rows].index(row.as_dict())
            assert share(done.plan, again, again[at]) == share(done.plan, done.rows, row)
            low, high = share(done.plan, done.rows, row)
            assert 0.0 <= low <= high <= 1.0


def test_checks_move_what_is_asked_by_less_than_two_percent(monkeypatch):
    """Every person is in one cell of these, so more of them cost nothing beyond what unreadable values cost alone."""
    from leastnoise.releases import mechanism as module
    from leastnoise.releases.sensitivity import blocks, is_checks

    plan = load_plan(CLINIC)
    made = mechanism(plan)
    monkeypatch.setattr(module, "blocks", lambda plan: tuple(block for block in blocks(plan) if not is_checks(block)))
    bare = mechanism(plan)
    for i, entry in enumerate(bare.entries):
        assert made.std(made.entries.index(entry)) <= 1.02 * bare.std(i)


def test_results_have_a_column_for_each_key_and_whole_counts():
    done = seeded(load_plan(CLINIC))
    lines = list(csv.DictReader(done.to_csv().splitlines()))
    assert list(lines[0])[:8] == ["statistic", "kind", "group", "ward", "value", "lower", "upper", "noise_std"]
    assert [line["ward"] for line in lines if line["statistic"] == "visits"] == ["north", "south", "west"]
    assert [line["ward"] for line in lines if line["kind"] == "other keys"] == ["all other keys"]
    counts = [line for line in lines if line["kind"] in ("count", "persons", *CHECKS)]
    assert all(line[name].lstrip("-").isdigit() for line in counts for name in ("value", "lower", "upper"))
    assert all(float(line["lower"]) <= float(line["value"]) <= float(line["upper"]) for line in lines)
    frame = done.to_pandas()
    assert frame.loc[frame["statistic"] == "visits", "ward"].tolist() == ["north", "south", "west"]


def test_a_key_called_like_a_column_of_the_results():
    import pyarrow as pa

    from leastnoise.releases.plan import Plan, Statistic

    plan = Plan("p", None, "add/remove", (Statistic("count", group_by={"value": ["a"]}),), 1.0, 1e-6, one_row_per_person=True)
    done = seeded(plan, table=pa.table({"value": ["a"] * 40}))
    (line, *_) = csv.DictReader(done.to_csv().splitlines())
    assert line["value (key)"] == "a"
    assert abs(int(line["value"]) - 40) < 40
