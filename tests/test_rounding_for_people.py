"""Privacy numbers as people read them: never smaller than the number that was proved, budgets and
sensitivities never larger.

Each was printed to the nearest digit once: a budget of 1e-4 of which 1.9e-5 was spent said "spent
0.0000, left 0.0001".
"""

import re
from dataclasses import replace

import pytest

from leastnoise import PrivacyLoss, design, gaussian
from leastnoise.artefact import read_artefact
from leastnoise.cli.printed_tables import print_comparison
from leastnoise.designer.compare import ComparedLaw
from leastnoise.errors import BudgetExceededError

pytest.importorskip("click")

from click.testing import CliRunner

from leastnoise.cli import main

NUMBER = r"([0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+][0-9]+)?)"


def run(*words):
    done = CliRunner().invoke(main, [str(word) for word in words], prog_name="leastnoise")
    assert done.exit_code == 0, done.output
    return done.output


def after(text, words):
    """The first number after these words."""
    found = re.search(re.escape(words) + NUMBER, text)
    assert found, f"no number after {words!r} in {text!r}"
    return float(found[1].replace(",", ""))


@pytest.mark.parametrize("sigma", [8.0, 8.02, 7.77, 3.21])
def test_account_rounds_bounds_outwards(sigma):
    said = run(
        "account",
        "gaussian",
        "--sigma",
        sigma,
        "--compositions",
        10,
        "--delta",
        "1.0000004e-6",
        "--sensitivity",
        "1.9999996",
    )
    bounds = PrivacyLoss.of(gaussian(sigma), 1.9999996).compose(10).epsilon_bounds(1.0000004e-6)
    assert after(said, "epsilon = ") >= bounds.upper
    assert after(said, "exact value above ") <= bounds.lower
    assert after(said, "at delta = ") >= 1.0000004e-6
    assert after(said, "sensitivity ") <= 1.9999996


def test_perturb_and_designs_say_no_less_than_they_cost(tmp_path):
    best = design(delta=1.0000004e-6, epsilon=0.99999996, sensitivity=1.9999996)
    said = best.summary()
    assert after(said, "guarantee   epsilon = ") >= best.epsilon
    assert after(said, "at delta = ") >= best.delta
    assert after(said, "sensitivity ") <= best.sensitivity
    assert after(repr(best), "epsilon=") >= best.epsilon
    assert after(repr(best), "sensitivity=") <= best.sensitivity
    file = tmp_path / "noise.json"
    run(
        "design",
        "--delta",
        "1.0000004e-6",
        "--epsilon",
        "0.99999996",
        "--sensitivity",
        "1.9999996",
        "--out",
        file,
    )
    stated = read_artefact(file).guarantee
    done = CliRunner().invoke(main, ["perturb", str(file)], input="1\n", prog_name="leastnoise")
    assert done.exit_code == 0
    assert after(done.stderr, "epsilon = ") >= stated.epsilon
    assert after(done.stderr, "delta = ") >= stated.delta == best.delta
    assert after(done.stderr, "by at most ") <= stated.sensitivity == best.sensitivity


def test_tables_of_laws_round_epsilon_up(capsys):
    rows = [ComparedLaw("one", 1.0000004, 8.0000004), ComparedLaw("two", 1.2000001, None)]
    print_comparison(rows, sigma=8.0)
    lines = capsys.readouterr().out.splitlines()
    assert float(lines[1].split()[1]) >= 1.0000004
    assert float(lines[2].split()[1]) >= 1.2000001


def test_refusals_round_what_is_spent_up_and_the_budget_down():
    said = str(BudgetExceededError("d", budget=1.9999999, spent=1.0000001, asked=2.0000001))
    assert after(said, "epsilon=") >= 1.0000001
    assert after(said, " of ") <= 1.9999999
    assert after(said, "come to ") >= 2.0000001


def test_a_ledger_rounds_what_is_spent_up_and_what_is_left_down(tmp_path):
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.ledger.listing import _dataset_row
    from leastnoise.ledger.records import Dataset

    with Ledger(tmp_path / "l.ledger") as ledger:
        made = ledger.open_dataset("d", epsilon=1e-4, delta=1.0049e-6)
    assert isinstance(made, Dataset)
    row = _dataset_row(replace(made, spent=1.884e-5, releases=1))
    delta, budget, spent, left = (float(cell) for cell in row[2:6])
    assert delta >= 1.0049e-6
    assert budget <= 1e-4
    assert spent >= 1.884e-5
    assert left <= 1e-4 - 1.884e-5


def test_the_explorer_says_no_odds_below_delta():
    from leastnoise.explorer.sentences import odds

    assert odds(1e-6) == "1 in 1,000,000"
    for delta in (1e-6 * (1 + 1e-10), 3.00001e-7, 1 / 3):
        said = odds(delta)
        stated = (
            1.0 / float(said.removeprefix("1 in ").replace(",", ""))
            if said.startswith("1 in")
            else float(said)
        )
        assert stated >= delta
