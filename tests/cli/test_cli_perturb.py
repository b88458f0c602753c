"""`leastnoise perturb`: noise is added as it was judged, to answers read exactly, at a price that
is written down first.

And the attack that it is there for: what `sample` prints, added to an answer in floating point,
gives the answer away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from leastnoise import Ledger, cube, design, exact, gaussian
from leastnoise.artefact import certify, read_artefact, write_artefact
from leastnoise.cli import main
from leastnoise.cli.answers import exact_decimals, read_answers
from leastnoise.designer.result import artefact_of
from leastnoise.errors import InvalidFileError

SECRET = "77.25"


def run(*arguments, typed: str | bytes = ""):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=typed)


def refused(result, *words: str) -> str:
    """One sentence, exit 2, nothing on standard output, and nothing of what was typed in."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("leastnoise: ")
    assert result.stderr.count("\n") == 1
    assert SECRET not in result.stderr
    for word in words:
        assert word in result.stderr
    return result.stderr


@pytest.fixture(scope="module")
def laws(tmp_path_factory) -> Path:
    """Artefacts: for one use, ten, two on the integers, two draws of three answers, 12 answers of
    which 1 changes."""
    folder = tmp_path_factory.mktemp("laws")
    requests = {
        "one": {"sigma": 8.0},
        "ten": {"sigma": 8.0, "compositions": 10},
        "wide": {"sigma": 80.0, "compositions": 10, "sensitivity": 10.0},
        "whole": {"sigma": 8.0, "compositions": 2, "domain": "integer"},
        "joint": {"sigma": 8.0, "compositions": 2, "batch": 3},
        "some": {"sigma": 8.0, "batch": 12, "touched": 1},
    }
    for name, request in requests.items():
        write_artefact(artefact_of(design(delta=1e-6, **request)), folder / f"{name}.json")
    assert read_artefact(folder / "joint.json").noise.dimension == 3
    assert read_artefact(folder / "some.json").noise.dimension == 1
    return folder


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("patients", epsilon=40.0, delta=1e-3)
    return path


def entries(path):
    with Ledger(path, read_only=True) as ledger:
        return ledger.entries("patients")


# --- the attack


def test_sampled_noise_on_an_answer_gives_the_answer_away_and_perturbed_answers_do_not(laws):
    """Two candidates for a secret average. One draw of noise, far larger than their difference, and
    the attacker knows which it is: the noise is a whole multiple of a public unit, so that what
    remains of the sum between two multiples is the answer's own."""
    law = laws / "ten.json"
    unit = read_artefact(law).noise.sampler().unit
    candidates = (120.125, 120.123)

    def apart(published: float, answer: float) -> float:
        """How far the difference is from a whole multiple of the unit: the sum of two floats is
        rounded, by 1e-14 here."""
        rest = (Fraction(published) - Fraction(answer)) % unit
        return float(min(rest, unit - rest))

    for answer in candidates:
        noise = float(run("sample", law).stdout)
        published = answer + noise  # as any language adds
        for each in candidates:  # with certainty, whatever was drawn
            assert (apart(published, each) < 1e-13) == (each == answer)
            assert apart(published, each) < 1e-13 or apart(published, each) > 1e-7

    for answer in candidates:
        published = run("perturb", law, typed=repr(answer)).stdout.strip()
        assert (
            Fraction(published) / unit % 2 == 1
        )  # an odd multiple of the unit, whatever the answer
        assert abs(float(published) - answer) < 200


def test_the_lattice_of_the_output_is_that_of_the_library(laws):
    """What is printed is what Noise.release gives, digit for digit, for answers on and off the
    lattice."""
    law = laws / "ten.json"
    noise = read_artefact(law).noise
    unit = noise.sampler().unit
    typed = [
        "0",
        "0.1",
        "-3",
        "1e-9",
        "123456789.987654321",
        "1e30",
        "-0.30000000000000000001",
        "7",
        "8",
        "9",
    ]
    for text in run("perturb", law, typed="\n".join(typed)).stdout.split():
        assert Fraction(text) / unit % 2 == 1
    for value in np.ravel(noise.release([float(each) for each in typed[:3]], decimals=True)):
        assert Fraction(value) / unit % 2 == 1


@pytest.mark.parametrize("name", ["ten", "whole", "joint"])
def test_snapped_and_noised_as_the_library_does(laws, monkeypatch, name):
    """With the same bytes of entropy `perturb` prints exactly the numbers of `sampling.release` on
    the exact values."""
    from leastnoise import sampling
    from leastnoise.sampling import InsecureSeededEntropy

    law = read_artefact(laws / f"{name}.json").noise
    answers = [["3", "-14", "15"], ["0", "7", "1e3"]] if name == "joint" else [["3"], ["-14"]]
    values = [[Fraction(cell) for cell in row] for row in answers]
    if name != "whole":
        answers[0][0], values[0][0] = "0.1", Fraction(1, 10)
    plain = sampling.release

    def seeded(noise, given):
        return plain(noise, given, entropy=InsecureSeededEntropy(5), not_private=True)

    expected = seeded(law, np.array(values, dtype=object))
    monkeypatch.setattr(sampling, "release", seeded)
    found = json.loads(
        run(
            "perturb", laws / f"{name}.json", "--json", typed="\n".join(map(",".join, answers))
        ).stdout
    )
    assert found["integers"] == expected.integers.tolist()
    assert Fraction(found["unit"]) == expected.unit
    shown = expected.integers if name == "whole" else expected.floats()
    assert found["noisy"] == shown.tolist()
    text = run("perturb", laws / f"{name}.json", typed="\n".join(map(",".join, answers))).stdout
    for line, row in zip(text.splitlines(), expected.integers.tolist(), strict=True):
        for cell, integer in zip(
            line.split(","), row, strict=True
        ):  # a third of a step has no last digit: joint laws
            assert abs(Fraction(cell) - integer * expected.unit) <= (
                expected.unit / 1000 if name == "joint" else 0
            )


# --- what is read


def test_answers_are_read_from_their_digits():
    text = b"0.1\r\n -2.50 \n1e-3\n+4.\n.5\n007\n3E2"
    found = read_answers(text, has_header=False, chosen=(), delimiter=",", whole_numbers=False)
    tenth = Fraction(1, 10)
    assert [row[0] for row in found.values] == [
        tenth,
        Fraction(-5, 2),
        tenth**3,
        4,
        Fraction(1, 2),
        7,
        300,
    ]
    assert tenth != Fraction(0.1)


def test_a_half_between_two_places_is_rounded_as_the_exact_number(laws, monkeypatch):
    """0.30000000000000004 and 0.3 are different answers to nobody; 1/2 + 1e-30 of a place and 1/2 −
    1e-30 of it are."""
    from leastnoise.sampling import alias as tables

    monkeypatch.setattr(
        tables.AliasTable, "draw", lambda self, count, entropy: np.zeros(count, dtype=np.int32)
    )
    found = [
        json.loads(run("perturb", laws / "whole.json", "--json", typed=text).stdout)["integers"][0][
            0
        ]
        for text in (
            "9007199254740993",
            "-9007199254740993",
        )  # 2^53 + 1 is no floating-point number
    ]
    assert found == [9007199254740993, -9007199254740993]


ODD = [
    "",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "abc",
    "1,5",
    "1_000",
    "0x10",
    "1e401",
    "1e9999999999",
    "1/2",
    "--1",
    "1 2",
    "½",
]
ODD += [
    "٣",
    "true",
    "None",
    "=1+1",
    "9" * 500,
    "1\x00",
    "\x1b[31m1",
    "'1'",
    "$5",
    "1e",
    "e5",
    ".",
    "+",
    "1.2.3",
]


@pytest.mark.parametrize("odd", ODD, ids=lambda text: ascii(text)[:20])
def test_what_is_no_number_is_refused_by_its_place(laws, book, odd):
    before = book.read_bytes()
    typed = f"{SECRET};1\n{SECRET};{odd}\n"
    cost = ["--ledger", book, "--dataset", "patients"]
    said = refused(
        run("perturb", laws / "ten.json", "--delimiter", ";", *cost, typed=typed),
        "Line 2, column 2: expected",
    )
    assert (
        not odd.strip()
        or odd not in said.replace("such as 12, -0.5 or 1e6", "")
        or odd in (".", "e5", "+", "1e", "None")
    )
    assert book.read_bytes() == before


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "no answers"),
        ("\n", "Line 1: expected a number; the line is empty"),
        (f"{SECRET}\n\n{SECRET}\n", "Line 2: expected a number; the line is empty"),
        (
            f"{SECRET}\n{SECRET},{SECRET}\n",
            "Line 2: expected 1 column(s), as in the first line; there are 2",
        ),
        (f'{SECRET}\n"{SECRET}\n', "expected CSV: every quote closed"),
        (f'{SECRET}\n"1"{SECRET}\n', "Line 2: expected CSV"),
        (b"1\n2\n\xff\xfe\n", "Line 3: expected text in UTF-8"),
        ("1\n" * 11, "The artefact is for 10 draw(s), and the answers need 11"),
    ],
    ids=[
        "nothing",
        "a line end",
        "blank",
        "ragged",
        "open quote",
        "after a quote",
        "latin",
        "too many",
    ],
)
def test_a_table_that_is_none_is_refused_before_anything_is_spent(laws, book, typed, words):
    refused(
        run("perturb", laws / "ten.json", "--ledger", book, "--dataset", "patients", typed=typed),
        words,
    )
    assert entries(book) == ()


def test_a_byte_order_mark_and_windows_line_ends_are_no_numbers(laws):
    done = run("perturb", laws / "ten.json", typed="\ufeff1\r\n2\r\n".encode())
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 2


def test_whole_answers_for_a_law_on_the_integers(laws):
    refused(
        run("perturb", laws / "whole.json", typed=f"1\n{SECRET}\n"),
        "Line 2, column 1: expected a whole number",
    )
    done = run("perturb", laws / "whole.json", typed="12.0\n1e3\n")
    assert done.exit_code == 0, done.output
    assert all(line.lstrip("-").isdigit() for line in done.stdout.split())


@pytest.mark.parametrize(
    ("typed", "lines"),
    [("1,2,3\n", 1), ("1\n2\n3\n", 3), ("1,2,3\n4,5,6\n", 2), ("1\n2\n3\n4\n5\n6\n", 6)],
    ids=["a line", "three lines", "two lines", "six lines"],
)
def test_a_joint_law_takes_its_answers_in_a_line_or_one_a_line(laws, typed, lines):
    done = run("perturb", laws / "joint.json", typed=typed)
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == lines


@pytest.mark.parametrize(
    "typed", ["1\n", "1\n2\n", "1,2\n", "1,2,3,4\n", "1,2\n3,4\n5,6\n", "1\n2\n3\n4\n"], ids=ascii
)
def test_another_number_of_answers_than_a_joint_law_has_is_refused_before_anything_is_drawn(
    laws, book, monkeypatch, typed
):
    from leastnoise import sampling

    monkeypatch.setattr(sampling, "release", lambda *_: pytest.fail("drawn"))
    words = (
        "One draw of the law serves 3 answers: expected 3 answers in every line, or one a "
        "line in a multiple of 3 lines"
    )
    refused(
        run("perturb", laws / "joint.json", "--ledger", book, "--dataset", "patients", typed=typed),
        words,
    )
    assert entries(book) == ()


def test_more_draws_than_the_artefact_states_are_refused(laws):
    refused(
        run("perturb", laws / "joint.json", typed="1,2,3\n" * 3),
        "is for 2 draw(s), and the answers need 3",
    )
    refused(
        run("perturb", laws / "whole.json", typed="1,2\n3,4\n"),
        "is for 2 draw(s), and the answers need 4",
    )


def test_a_law_of_which_one_person_changes_some_draws_serves_the_whole_batch(laws, book):
    """Designed for twelve answers of which one person changes one: one use is stated, and twelve
    draws are made."""
    assert read_artefact(laws / "some.json").guarantee.compositions == 1
    cost = ["--ledger", book, "--dataset", "patients"]
    twelve = "".join(f"{i}\n" for i in range(12))
    refused(
        run("perturb", laws / "some.json", *cost, typed=twelve),
        "is for 1 draw(s), and the answers need 12",
        "--touched 1",
    )
    refused(run("perturb", laws / "some.json", "--touched", 2, typed=twelve), "--touched 2 to be 1")
    refused(run("perturb", laws / "ten.json", "--touched", 1, typed="1\n"), "to be left out")
    done = run("perturb", laws / "some.json", "--touched", 1, *cost, typed=twelve)
    assert done.exit_code == 0, done.output
    assert "and changes at most 1 of 12 draws" in done.stderr
    assert entries(book)[0].draws[0].uses == 1
    assert entries(book)[0].stamp == "a person changes at most 1 of 12 draws"
    refused(
        run("perturb", laws / "some.json", "--touched", 1, typed="1\n" * 13),
        "is for 12 draw(s), and the answers need 13",
    )


def test_an_artefact_cannot_say_by_itself_that_one_person_changes_few_draws(laws, book, tmp_path):
    """No certificate covers what it was designed for, so somebody who can write files
    can write it."""
    from dataclasses import replace

    artefact = read_artefact(laws / "one.json")
    write_artefact(
        replace(artefact, problem={**artefact.problem, "batch": 1000, "touched": 1}),
        tmp_path / "forged.json",
    )
    cost = ["--ledger", book, "--dataset", "patients"]
    refused(
        run("perturb", tmp_path / "forged.json", *cost, typed="5\n" * 1000),
        "is for 1 draw(s), and the answers need 1000",
    )
    assert not entries(book)


# --- which laws


def test_a_law_without_a_guarantee_is_refused_and_told_what_to_do(laws, tmp_path):
    gaussian(8.0).save(tmp_path / "gaussian.json")
    cube(8.0, 1).save(tmp_path / "tail.json")
    exact(cube(8.0, 1), delta=1e-6).save(tmp_path / "exact.json")
    for name in ("gaussian.json", "tail.json", "exact.json"):
        refused(
            run("perturb", tmp_path / name, typed=SECRET),
            "law without a guarantee",
            "leastnoise design … --out noise.json",
        )
    refused(run("perturb", tmp_path / "missing.json", typed=SECRET), "missing.json")


def test_an_artefact_that_does_not_hold_what_it_states_is_refused(laws, tmp_path):
    """Its hash is right: somebody who can write files can compute it. Its guarantee is recomputed
    all the same."""
    from dataclasses import replace

    artefact = read_artefact(laws / "ten.json")
    better = replace(artefact, guarantee=replace(artefact.guarantee, epsilon=0.5))
    write_artefact(better, tmp_path / "better.json")
    refused(
        run("perturb", tmp_path / "better.json", typed=SECRET),
        "does not hold what it states",
        "stated epsilon is 0.5",
    )


def test_the_sphere_is_perturbed_too(tmp_path):
    from leastnoise import sphere

    write_artefact(certify(sphere(8.0, 2), delta=1e-6, compositions=1), tmp_path / "sphere.json")
    done = run("perturb", tmp_path / "sphere.json", "--json", typed=f"{SECRET},2\n")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    (row,) = found["noisy"]
    assert [Fraction(found["unit"]) * integer for integer in found["integers"][0]] == pytest.approx(
        row
    )


# --- columns


TABLE = "ward,=cmd(),count,share,-note\nnorth,+x,10,0.5,-5\n@south,-y,20,0.25,'quoted'\n"


def test_chosen_columns_get_noise_and_others_pass_without_formulas(laws):
    done = run(
        "perturb",
        laws / "ten.json",
        "--header",
        "--column",
        "count",
        "--column",
        "share",
        typed=TABLE,
    )
    assert done.exit_code == 0, done.output
    head, first, second = (line.split(",") for line in done.stdout.splitlines())
    assert head == ["ward", "'=cmd()", "count", "share", "'-note"]
    assert [first[0], first[1], first[4]] == ["north", "'+x", "-5"]  # a number is no formula
    assert [second[0], second[1], second[4]] == ["'@south", "'-y", "'quoted'"]
    for row in (first, second):
        assert row[2] not in ("10", "20")
        assert all(abs(float(cell)) < 250 for cell in row[2:4])


def test_columns_by_number_where_there_is_no_header(laws):
    done = run(
        "perturb", laws / "ten.json", "--column", "2", "--delimiter", ";", typed="a;1\nb;2\n"
    )
    assert [line.split(";")[0] for line in done.stdout.splitlines()] == ["a", "b"]


@pytest.mark.parametrize("first", ["12345", "1,2", "a,2", " 7.5 "])
def test_a_first_line_of_answers_is_no_header(laws, first):
    """It would be passed on as it is."""
    columns = first.count(",") + 1
    table = f"{first}\n" + ",".join("9" * columns) + "\n"
    said = refused(
        run("perturb", laws / "ten.json", "--header", typed=table), "would be shown without noise"
    )
    assert "12345" not in said
    if columns == 2:
        done = run("perturb", laws / "ten.json", "--header", "--column", "2", typed="1,2\nx,9\n")
        assert done.stdout.splitlines()[0] == "1,2"  # a column called 2, by that name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--header", "--column", "missing"],
            "Expected --column missing to be the name of one column",
        ),
        (["--column", "count"], "for a name the table needs --header"),
        (["--column", "0"], "the number of a column, 1 to 5"),
        (["--column", "6"], "the number of a column, 1 to 5"),
        (["--column", "3", "--column", "3"], "once for each column"),
        (["--delimiter", ""], "--delimiter"),
        (["--delimiter", ",,"], "--delimiter"),
        (["--delimiter", "1"], "--delimiter"),
        (["--delimiter", '"'], "--delimiter"),
        (["--header"], "Line 2, column 1: expected a finite number"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_odd_columns_are_refused_without_showing_the_table(laws, options, words):
    said = refused(run("perturb", laws / "ten.json", *options, typed=TABLE), words)
    assert "north" not in said
    assert "ward" not in said


# --- the price


def test_the_cost_is_what_the_artefact_states(laws, book):
    """Sensitivity 10 and ten uses, although three answers are given: the artefact is
    one guarantee."""
    cost = [
        "--ledger",
        book,
        "--dataset",
        "patients",
        "--plan",
        "March",
        "--note",
        "three averages",
    ]
    done = run("perturb", laws / "wide.json", *cost, typed="1\n2\n3\n")
    assert done.exit_code == 0, done.output
    (entry,) = entries(book)
    (drawn,) = entry.draws
    assert (drawn.sensitivity, drawn.uses) == (10.0, 10)
    assert (entry.plan_hash, entry.note, entry.stamp) == ("March", "three averages", "")
    assert entry.result_hash is not None
    assert f"Recorded as release {entry.id}: 10 use(s)." in done.stderr


def test_whom_it_protects_is_written_down_and_held_against_what_was_said(laws, book):
    """As a release writes it from its plan; a run for others is refused, and one that does not say
    is told so."""
    cost = ["perturb", laws / "ten.json", "--ledger", book, "--dataset", "patients"]
    who = ["--relation", "add/remove", "--person", "patient", "--person-is", "a patient"]
    first = run(*cost, *who, typed="1\n2\n3\n")
    assert first.exit_code == 0, first.output
    assert "whose rows belong together" not in first.stderr
    with Ledger(book, read_only=True) as ledger:
        unit = ledger.dataset("patients").unit
    assert (unit.relation, unit.person, unit.person_is) == (
        "add/remove",
        "person = 'patient'",
        "a patient",
    )
    refused(
        run(*cost, "--one-row-per-person", typed="1\n"),
        "so far have person = 'patient', this one one row a person",
    )
    refused(run(*cost, "--relation", "replace", typed="1\n"), "relation = 'replace'")
    refused(
        run(*cost, "--person", "patient", "--one-row-per-person", typed="1\n"),
        "to stand without --one-row-per-person",
    )
    assert len(entries(book)) == 1
    silent = run(*cost, typed="1\n")
    assert silent.exit_code == 0
    assert (
        "so far protect: person = 'patient' (a patient), relation = 'add/remove'. This one does "
        "not say whose" in silent.stderr
    )
    quiet = run(*cost, "--person", "patient", "--person-is", "a patient", typed="1\n")
    assert (
        "so far protect: relation = 'add/remove'. This one does not say which tables are neighbours"
        in quiet.stderr
    )


def test_less_is_charged_only_on_demand_and_marked(laws, book):
    cost = ["--ledger", book, "--dataset", "patients", "--less-than-stated"]
    found = json.loads(
        run("perturb", laws / "wide.json", *cost, "--json", typed="1\n2\n3\n").stdout
    )
    (entry,) = entries(book)
    assert (entry.draws[0].sensitivity, entry.draws[0].uses) == (10.0, 3)
    assert entry.stamp == "3 of 10 stated uses"
    assert (found["charged_uses"], found["ledger_entry"], found["draws"]) == (3, entry.id, 3)


def test_a_refused_release_shows_nothing(laws, book):
    with Ledger(book) as ledger:
        ledger.open_dataset("few", epsilon=1.2, delta=1e-3)
    cost = ["--ledger", book, "--dataset", "few", "--out", book.parent / "noisy.csv"]
    assert run("perturb", laws / "ten.json", *cost, typed=f"{SECRET}\n").exit_code == 0
    before = (book.parent / "noisy.csv").read_text()
    refused(run("perturb", laws / "ten.json", *cost, typed=f"{SECRET}\n"), "The release is refused")
    assert (book.parent / "noisy.csv").read_text() == before
    with Ledger(book, read_only=True) as ledger:
        assert len(ledger.entries("few")) == 1


def test_the_cost_is_on_the_disk_before_a_number_leaves(laws, book, tmp_path):
    """Killed at the instant at which it would print or write: the ledger has the cost, and nothing
    was seen."""
    code = (
        "import os, sys\n"
        "import leastnoise.cli.perturb as module\n"
        "module._shown = lambda *_: os._exit(9)\n"
        "from leastnoise.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    command = [
        "perturb",
        str(laws / "ten.json"),
        "--ledger",
        str(book),
        "--dataset",
        "patients",
        "--out",
        str(tmp_path / "out.csv"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *command], input=b"1\n", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (9, b"")
    (entry,) = entries(book)
    assert entry.result_hash is None
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ledger", "BOOK"], "Expected --ledger BOOK to come with --dataset, whose budget pays."),
        (["--dataset", "patients"], "Expected --dataset patients to come with --ledger."),
        (["--plan", "March"], "Expected --plan March to come with --ledger."),
        (["--note", "March"], "Expected --note March to come with --ledger."),
        (["--less-than-stated"], "Expected --less-than-stated to come with --ledger."),
        (["--person", "patient"], "Expected --person patient to come with --ledger."),
        (["--one-row-per-person"], "Expected --one-row-per-person to come with --ledger."),
        (["--person-is", "a patient"], "Expected --person-is 'a patient' to come with --ledger."),
        (["--relation", "replace"], "Expected --relation replace to come with --ledger."),
        (["--ledger", "missing.ledger", "--dataset", "patients"], "leastnoise ledger open"),
        (
            ["--ledger", "BOOK", "--dataset", "nobody"],
            "declare its budget with: leastnoise ledger open",
        ),
        (["--ledger", "BOOK", "--dataset", "patients", "--plan", ""], "--plan"),
        (["--ledger", "BOOK", "--dataset", "patients", "--note", "a\tb"], "--note"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_odd_ledgers_are_refused(laws, book, monkeypatch, options, words):
    monkeypatch.chdir(book.parent)
    Path("BOOK").write_bytes(book.read_bytes())
    before = Path("BOOK").read_bytes()
    refused(run("perturb", laws / "ten.json", *options, typed=SECRET), words)
    assert Path("BOOK").read_bytes() == before
    assert sorted(os.listdir()) == ["BOOK", "budget.ledger"]


# --- where it goes


def test_a_file_is_written_whole_and_never_over_an_input(laws, book, tmp_path):
    answers, law = tmp_path / "answers.csv", tmp_path / "law.json"
    answers.write_text("1\n2\n")
    law.write_bytes((laws / "ten.json").read_bytes())
    (tmp_path / "same.csv").hardlink_to(answers)
    (tmp_path / "link.csv").symlink_to(answers)
    cost = ["--ledger", book, "--dataset", "patients"]
    for out, name in (
        (answers, "ANSWERS"),
        (law, "LAW"),
        (book, "--ledger"),
        ("same.csv", "ANSWERS"),
        ("link.csv", "ANSWERS"),
    ):
        before = (tmp_path / out).read_bytes()
        refused(
            run("perturb", law, answers, *cost, "--out", tmp_path / out),
            f"to be another file than {name}",
        )
        assert (tmp_path / out).read_bytes() == before
    assert entries(book) == ()
    done = run("perturb", law, answers, *cost, "--out", tmp_path / "noisy.csv")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert len((tmp_path / "noisy.csv").read_text().splitlines()) == 2
    assert answers.read_text() == "1\n2\n"


def test_a_dash_is_standard_output_and_input(laws, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("perturb", laws / "ten.json", "-", "--out", "-", typed="1\n2\n")
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 2
    refused(
        run("perturb", laws / "ten.json", "--out", "-", "--json", typed="1\n"),
        "both are for standard output",
    )
    assert os.listdir() == []


def test_what_cannot_be_written_is_shown_because_it_is_spent(laws, book, tmp_path, monkeypatch):
    from leastnoise.files import writing

    def full(path, text):
        raise OSError(28, "No space left on device")

    cost = ["--ledger", book, "--dataset", "patients"]
    refused(
        run(
            "perturb",
            laws / "ten.json",
            *cost,
            "--out",
            tmp_path / ("a" * 300 + ".csv"),
            typed="1\n",
        ),
        "name too long",
    )
    monkeypatch.setattr(writing, "write_whole", full)
    done = run("perturb", laws / "ten.json", *cost, "--out", tmp_path / "noisy.csv", typed="1\n")
    assert done.exit_code == 2
    assert abs(float(done.stdout)) < 200
    assert "could not be written" in done.stderr
    assert len(entries(book)) == 1


# --- digits


def test_decimals_are_exact_where_they_end():
    assert exact_decimals([3, -3, 0], Fraction(1, 8)) == ["0.375", "-0.375", "0.000"]
    assert exact_decimals([7, -7], Fraction(1)) == ["7", "-7"]
    assert exact_decimals([1, -12345], Fraction(1, 10)) == ["0.1", "-1234.5"]
    assert exact_decimals([3], Fraction(5)) == ["15"]
    large = 3**200
    assert Fraction(exact_decimals([large], Fraction(1, 2**60))[0]) == Fraction(large, 2**60)


def test_decimals_that_never_end_still_tell_lattice_points_apart():
    unit = Fraction(1, 3 * 2**17)
    shown = [Fraction(text) for text in exact_decimals(range(-50, 50), unit)]
    assert len(set(shown)) == 100
    assert all(
        abs(value - n * unit) < unit / 1000 for n, value in zip(range(-50, 50), shown, strict=True)
    )


def test_no_answers_name_no_file():
    with pytest.raises(InvalidFileError, match="There are no answers"):
        read_answers(b"a,b\n", has_header=True, chosen=(), delimiter=",", whole_numbers=False)
