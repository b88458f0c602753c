"""What the command line says: options and commands, never the names of Python."""

from __future__ import annotations

import ast
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import leastnoise
from leastnoise import Ledger, cube, gaussian, laplace
from leastnoise.cli import main
from leastnoise.cli.messages import PHRASES, printable, sentence
from leastnoise.errors import (
    AccountingError,
    DesignError,
    InvalidFileError,
    InvalidParameterError,
    LeastNoiseError,
    PlanError,
)

SOURCE = Path(leastnoise.__file__).parent


def said(*arguments: str) -> str:
    done = CliRunner().invoke(main, list(arguments), prog_name="leastnoise")
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    return done.stderr.removeprefix("leastnoise: ").removesuffix("\n")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gaussian(8.0).save("gaussian.json")
    laplace(8.0).save("laplace.json")
    cube(8.0, 10).save("ten.json")
    with Ledger("budget.ledger") as ledger:
        ledger.open_dataset("patients", epsilon=1.0, delta=1e-6)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("design --delta 1e-6", "Expected --sigma or --epsilon to be given, exactly one of them."),
        (
            "design --delta 1e-6 --sigma 1 --epsilon 2",
            "Expected --sigma 1.0 or --epsilon 2.0 to be given, exactly one of them.",
        ),
        ("design --delta 2 --sigma 8", "Expected --delta 2.0 in (0, 1)."),
        (
            "design --delta 1e-6 --constraint x 1e-3",
            "Invalid value for '--constraint': expected EPSILON 'x' to be a number of at least 0, "
            "as in EPSILON DELTA = 0.5 1e-3; see leastnoise design --help.",
        ),
        (
            "design --delta 1e-6 --constraint 0.5 1e-3 --constraint -1 1e-3",
            "Invalid value for '--constraint': expected EPSILON '-1' to be a number of at least 0, "
            "as in EPSILON DELTA = 0.5 1e-3; see leastnoise design --help.",
        ),
        *(
            (
                f"design --delta 1e-6 --constraint 0.5 {value}",
                f"Invalid value for '--constraint': expected DELTA '{value}' to be a number in "
                "(0, 1), as in EPSILON DELTA = 0.5 1e-3; see leastnoise design --help.",
            )
            for value in ("2", "0", "nan", "1e999", "1e-3%")
        ),
        (
            "design --delta 1e-6 --sigma 8 --compositions 0",
            "Expected --compositions 0 to be a positive integer.",
        ),
        (
            "design --delta 1e-6 --sigma 8 --step 0.3",
            "Expected --step 0.3 to divide --sensitivity 1.0 a whole number of times.",
        ),
        (
            "design --delta 1e-6 --sigma 8 --step 2 --domain integer",
            "Expected --step 2.0 to be 1 for --domain integer.",
        ),
        (
            "design --delta 1e-6 --sigma 8 --renyi-order 3",
            "Expected --renyi-order 3.0 to be at least 1, with --objective renyi.",
        ),
        # A DesignError and an AccountingError are arithmetic errors too, and have a sentence of
        # their own all the same.
        (
            "design --delta 1e-6 --sigma 1e300",
            "Expected --sigma 1e+300 between 0.001 and 2000 for --sensitivity 1.",
        ),
        (
            "account ten.json --delta 1e-6 --sensitivity 1e200",
            "A shift of 1e+201 lattice steps is too far to be judged; the ",
        ),
        # What would be ignored is refused.
        (
            "design --delta 1e-6 --sigma 8 --touched 9 --batch 3",
            "Expected --touched 9 to be at most --batch 3.",
        ),
        (
            "design --delta 1e-6 --sigma 8 --touched 3",
            "Expected --touched 3 to come with --batch, ",
        ),
        (
            "account ten.json --delta 1e-6 --batch 5",
            "Expected --batch 5 to be at least 10, the answers that one draw serves.",
        ),
        (
            "account sphere --sigma 8 --delta 1e-6",
            "Expected --batch 1 to be at least 2 (for one answer the law is Laplace's).",
        ),
        (
            "account gaussian --delta 1e-6",
            "Expected --sigma to be given for the named law gaussian.",
        ),
        (
            "account Gaussian --sigma 8 --delta 1e-6",
            "Expected LAW 'Gaussian' to be a file or one of gaussian, laplace, ",
        ),
        (
            "account ten.json --delta 1e-6 --sigma 8",
            "Expected --sigma 8.0 to be left out: a saved law has its own.",
        ),
        (
            "design --delta 1e-6 --sigma 8 --plot x.gif",
            "Expected --plot x.gif to end in .png, .svg or .pdf.",
        ),
        (
            "sample gaussian.json",
            "The Gaussian law is a closed form without a lattice and cannot be sampled exactly; "
            "write a law ",
        ),
        ("sample laplace.json", "The Laplace law is a closed form without a lattice"),
        (
            "ledger spend budget.ledger nobody ten.json --plan x",
            "The ledger has no data set 'nobody'; declare its budget with: lea",
        ),
        (
            "ledger spend budget.ledger patients ten.json --plan x --uses 0",
            "Expected --uses 0 to be a positive integer.",
        ),
        (
            "ledger open budget.ledger patients --epsilon 2 --delta 1e-6",
            "The budget of 'patients' is declared already and cannot be",
        ),
        ("release plan.toml", "Expected --ledger to be given, or else --no-ledger."),
        (
            "release plan.toml --ledger budget.ledger --no-ledger",
            "Expected --ledger budget.ledger to stand without --no-ledger.",
        ),
        (
            "release plan.toml --preview --out x.csv",
            "Expected --preview to stand without --out and --plot",
        ),
        (
            "release plan.toml --no-ledger --out -",
            "Expected --out - to be a file; for the numbers on standard output use --json.",
        ),
        (
            "design --delta 1e-6 --sigma 8 --out - --json",
            "Expected --out - to be a file where --json is given",
        ),
    ],
    ids=lambda value: value if value.split()[0] in main.commands else "",
)
def test_messages_speak_of_options(desk, line, expected):
    assert said(*line.split()).startswith(expected)


def test_a_name_in_a_ledger_is_an_argument(desk):
    assert said(
        "ledger", "open", "new.ledger", " ", "--epsilon", "1", "--delta", "1e-6"
    ).startswith("Expected DATASET ' ' to be plain")
    assert said(
        "ledger", "spend", "budget.ledger", "patients", "ten.json", "--plan", ""
    ).startswith("Expected --plan '' to be text")


@click.command()
@click.option("--delta", type=float)
@click.option("--dry", is_flag=True)
@click.argument("dataset")
def example() -> None:
    """For the tests below."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidParameterError("delta", None, "to be given"), "Expected --delta to be given."),
        (InvalidParameterError("dry", True, "to be left out"), "Expected --dry to be left out."),
        (
            InvalidParameterError("name", "a b", "to be short"),
            "Expected DATASET 'a b' to be short.",
        ),
        (InvalidParameterError("edges", (0, 1), "to rise"), "Expected edges=[0, 1] to rise."),
        (InvalidParameterError("edges", (1,), "to rise"), "Expected edges=[1] to rise."),
        (InvalidParameterError("table", None, "to be a text"), "Expected table to be a text."),
        (
            InvalidParameterError("weight", False, "to be a number"),
            "Expected weight=false to be a number.",
        ),
        (DesignError("No law for delta=1e-06."), "No law for --delta 1e-06."),
        (
            AccountingError("Nothing for delta=0.5, nor for epsilon=inf."),
            "Nothing for --delta 0.5, nor for epsilon=inf.",
        ),
        # The fields of a file may be called like an option: they are meant.
        (InvalidFileError("'x.json' does not describe a law: Expected delta=2 in (0, 1)."), None),
        (PlanError("'age' declares delta=2."), None),
    ],
    ids=str,
)
def test_parameters_become_what_is_typed(error: LeastNoiseError, expected):
    assert sentence(error, example) == (str(error) if expected is None else expected)


def texts_said() -> set[str]:
    """Every text of the package outside the command line, however its lines are broken."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        if path.parent.name != "cli":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            found |= {node.value for node in nodes if isinstance(node.value, str)}
    return found


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_phrase_is_still_said_somewhere(phrase):
    """Else the table has gone stale: the package says it otherwise now, in words of
    Python again."""
    if phrase.endswith("Noise is "):  # the name of a class, at the beginning of a message
        assert phrase.removesuffix(" is ") in {
            type(law(1.0)).__name__ for law in (gaussian, laplace)
        }
        assert any(text.startswith(" is ") for text in texts_said())
    else:
        assert any(phrase in text for text in texts_said())


def test_what_is_printed_is_one_line_without_control_characters():
    assert printable("a\nb\t c") == "a b c"
    assert printable("\x1b[31mred\x07 \udcff") == "\\x1b[31mred\\x07 \\udcff"
    assert printable("9" * 5000) == "9" * 100 + "…" + "9" * 10
    assert printable("ä ε …") == "ä ε …"
