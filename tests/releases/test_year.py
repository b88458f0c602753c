"""A year in the life of a steward: one budget, four quarterly releases and a late request, on the visits of a clinic.

The table is examples/clinic.csv, 3,017 visits of 1,500 patients, wards as people type them, stays that are no numbers. What goes
wrong in a year goes wrong here: a plan that would end the budget, a colleague's plan that protects visits instead of patients, an
export in another encoding, two runs that are killed, and a request for more than is left. At every step what the preview announced
is what the ledger shows afterwards, and every published interval is held against the truth.
"""

import csv
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
from leastnoise.digits import above, below
from leastnoise.releases.estimate import CONFIDENCE
from leastnoise.releases.ledger import Ledger
from leastnoise.releases.run import release
from leastnoise.sampling.entropy import InsecureSeededEntropy
from releases.instants import WRITTEN
from releases.year_process import SCANNED

TESTS = Path(__file__).parents[1]
CLINIC = TESTS.parent / "examples" / "clinic.csv"
WARDS = ("north", "south", "west")
SURE = 1.0 - 1e-6  # of how far noise reaches, where all of a year's numbers must be within it
PLAN = """
name = "{name}"
dataset = "clinic"
epsilon = {epsilon}
{delta}
relation = "add/remove"
{unit}
postprocess = ["non-negative"]
[source]
csv = '{csv}'
[[statistic]]
kind = "{heads}"
name = "patients"
[[statistic]]
kind = "count"
name = "visits"
group_by = {{ ward = {{ values = ["north", "south", "west"], match = "{match}" }} }}
[[statistic]]
kind = "mean"
name = "stay"
column = "stay"
lower = 0
upper = 40
pitch = 0.1
missing = "drop"
"""
PATIENTS = 'person = "patient"\nperson_is = "a patient"\nrows_per_person = 6\ngroups_per_person = 3'
VISITS = "one_row_per_person = true"


def command(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    return done.exit_code, done.output


class Desk:
    """Where the steward works: the ledger, the plans, and the export of each quarter."""

    def __init__(self, folder):
        self.folder, self.book = folder, folder / "clinic.ledger"
        with CLINIC.open(newline="", encoding="utf-8") as file:
            self.visits = list(csv.DictReader(file))
        self.misses, self.numbers, self.unsaid = 0, 0, []

    def export(self, name, visits, encoding="utf-8"):
        path = self.folder / f"{name}.csv"
        with path.open("w", newline="", encoding=encoding) as file:
            table = csv.DictWriter(file, list(visits[0]))
            table.writeheader()
            table.writerows(visits)
        return path

    def quarter(self, number):
        return [visit for visit in self.visits if (int(visit["day"]) - 1) * 4 // 365 == number - 1]

    def plan(self, name, table, epsilon=0.35, match="casefold", delta="", unit=PATIENTS):
        heads = "count" if unit == VISITS else "persons"
        text = PLAN.format(name=name, csv=table, epsilon=epsilon, match=match, delta=delta, unit=unit, heads=heads)
        path = self.folder / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def announced(self, plan):
        """What the preview says of the ledger."""
        code, said = command("release", plan, "--ledger", self.book, "--preview", "--json")
        assert code == 0, said
        return json.loads(said)["ledger"]

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

    def released(self, plan, visits, seed, match="casefold", last=False):
        """Announced, released, held against the truth."""
        announced = self.announced(plan)
        assert announced["allowed"]
        assert announced["last"] == last
        with Ledger(self.book) as ledger:
            done = release(plan, ledger=ledger, entropy=InsecureSeededEntropy(seed), not_private=True, last=last)
            assert ledger.entries()[-1].result_hash == done.hash
        self.holds(announced)
        true = truth(visits, match)
        assert {(row.statistic, row.group) for row in done.rows} == set(true)
        factor = max(law.noise.interval(SURE) / law.noise.interval(CONFIDENCE) for law in done.mechanism.laws)
        for row in done.rows:
            if row.value is None:  # a mean of too few values for its noise
                self.unsaid.append((done.plan.name, row.statistic))
                continue
            exact = true[row.statistic, row.group]
            assert abs(row.value - exact) <= factor * max(row.value - row.lower, row.upper - row.value), row
            self.misses += not row.lower <= exact <= row.upper
            self.numbers += 1
        return done


def truth(visits, match):
    """The published numbers without noise, counted here. No patient has more than 6 visits or 3 wards in a quarter."""

    def ward(visit):
        written = visit["ward"].strip().lower() if match == "casefold" else visit["ward"]
        return written if written in WARDS else None

    stays = {visit["stay"]: _number(visit["stay"]) for visit in visits}
    known = [stays[visit["stay"]] for visit in visits if stays[visit["stay"]] is not None]
    unreadable = {visit["patient"] for visit in visits if visit["stay"].strip() and stays[visit["stay"]] is None}
    others = {visit["patient"] for visit in visits if ward(visit) is None} - unreadable  # each patient is counted once
    clipped = {visit["patient"] for visit in visits if (stays[visit["stay"]] or 0.0) > 40.0} - unreadable - others
    counts = {("visits", f"ward = {name}"): sum(ward(visit) == name for visit in visits) for name in WARDS}
    return {
        ("patients", ""): len({visit["patient"] for visit in visits}),
        ("stay", ""): sum(known) / len(known),
        **counts,
        ("persons with other keys", "ward"): len(others),
        ("persons with an unreadable value", "stay"): len(unreadable),
        ("persons with a clipped value", "stay"): len(clipped),
        ("persons with rows left out", "more than 6 rows"): 0,
    }


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def killed(desk, plan, instant):
    """A release in a process of its own, which ends at that instant."""
    threads = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "releases.year_process", str(plan), str(desk.book), instant]
    run = subprocess.run(words, capture_output=True, text=True, env=threads, cwd=TESTS, check=False)
    assert run.returncode == 0, run.stderr


def test_a_year(tmp_path):
    desk = Desk(tmp_path)
    opened = command("ledger", "open", desk.book, "clinic", "--epsilon", 3, "--delta", "1e-6", "--releases", 8)
    assert opened[0] == 0

    # Spring. One number at the whole delta would be the first and the last: refused, and corrected as advised.
    first = desk.quarter(1)
    table = desk.export("first", first)
    greedy = desk.plan("spring", table, delta="delta = 1e-6", match="exact")
    greedy.write_text(only_the_patients(greedy.read_text(encoding="utf-8")), encoding="utf-8")
    assert desk.announced(greedy)["last"]
    assert desk.announced(greedy)["remaining"] == 0.0
    words = desk.refused(greedy, "nothing could be released after it", "--last", "With its share of the ledger's delta")
    assert desk.announced(greedy)["advice"] in words
    spring = desk.released(desk.plan("spring", table, match="exact"), first, 1, "exact")
    assert spring.delta == 3.12e-9  # half of 5 % of 1e-6, by 8

    # Summer. The wards are typed in many ways, so the plan is corrected: keys match without case and blanks. The run is killed,
    # once before the cost is written, which costs nothing, and once after it, which costs what was announced. Then it is made.
    second = desk.quarter(2)
    typed, meant = (truth(second, match)["persons with other keys", "ward"] for match in ("exact", "casefold"))
    assert typed > meant + 20
    summer = desk.plan("summer", desk.export("second", second))
    before = desk.shown()
    killed(desk, summer, WRITTEN)
    assert desk.shown() == before
    announced = desk.announced(summer)
    killed(desk, summer, SCANNED)
    desk.holds(announced)
    with Ledger(desk.book, read_only=True) as ledger:
        assert ledger.entries()[-1].result_hash is None
    desk.released(summer, second, 2)

    # Autumn. A colleague's plan takes every visit for a person; the export comes in another encoding. Neither costs anything.
    third = desk.quarter(3)
    autumn = desk.plan("autumn", desk.export("third", third))
    mine = desk.plan("visits", desk.folder / "third.csv", unit=VISITS)
    desk.refused(mine, "so far have person = 'patient', this one one row a person")
    assert not desk.announced(mine)["allowed"]
    odd = desk.plan("odd", desk.export("odd", [*third, {**third[0], "ward": "süd"}], encoding="latin-1"))
    desk.refused(odd, "must be UTF-8")
    desk.released(autumn, third, 3)

    # Winter.
    fourth = desk.quarter(4)
    winter = desk.plan("winter", desk.export("fourth", fourth))
    desk.released(winter, fourth, 4)
    assert desk.shown()["remaining"] == pytest.approx(3.0 - 5 * 0.35, abs=0.01)

    # A late request asks for more than is left: it is refused with an epsilon that was tried, and made with that.
    late = desk.plan("late", desk.folder / "fourth.csv", epsilon=1.5)
    announced = desk.announced(late)
    assert (announced["allowed"], announced["remaining"]) == (False, 0.0)
    assert announced["advice"] in desk.refused(late, "would come to 3.2")
    advised = float(announced["advice"].split("epsilon=")[1].split()[0])
    done = desk.released(desk.plan("late", desk.folder / "fourth.csv", epsilon=advised), fourth, 5)
    account = desk.shown()
    assert f"would come to epsilon={above(account['spent'])}, with {below(account['remaining'])} left" in announced["advice"]
    assert done.epsilon <= advised

    # What is then left is spent to its end: only as the last, and from then on nothing is.
    rest = desk.plan("rest", desk.folder / "fourth.csv", epsilon=round(desk.shown()["remaining"], 4) - 1e-4)
    desk.refused(rest, "nothing could be released after it", "--last")
    desk.released(rest, fourth, 6, last=True)
    code, words = command("release", winter, "--ledger", desk.book)
    assert code == 2
    assert "With epsilon" not in words
    assert desk.shown()["closed"]
    assert command("ledger", "check", desk.book, "--every-release")[0] == 0
    assert desk.unsaid == [("rest", "stay")]
    assert desk.numbers == 6 * 9 - 1
    assert desk.misses <= 0.1 * desk.numbers


def only_the_patients(plan):
    """The plan with its first statistic alone: one number, whose best noise uses up its delta."""
    start, first, *_ = plan.split("[[statistic]]")
    return f"{start}[[statistic]]{first}".replace("groups_per_person = 3", "")
