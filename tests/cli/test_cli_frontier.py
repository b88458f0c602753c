"""`leastnoise frontier`, and the promises of `leastnoise design` beside ε and δ."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from leastnoise.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments], prog_name="leastnoise")


def test_a_cap_is_printed_written_and_verified(tmp_path):
    out = tmp_path / "noise.json"
    promise = ("--delta", 1e-6, "--epsilon", 1, "--advantage", 0.3)
    done = run("design", *promise, "--constraint", 0.5, 0.2, "--out", out)
    assert done.exit_code == 0, done.output
    assert "constraint  advantage, delta(0), at most 0.3: certified 0.29999" in done.output
    assert "constraint  delta(0.5) at most 0.2: certified 0." in done.output
    checked = run("verify", out)
    assert checked.exit_code == 0
    assert checked.output.count("advantage, delta(0), at most 0.3") == 2
    told = json.loads(run("verify", out, "--json").output)
    assert [one["epsilon"] for one in told["constraints"]] == [1.0, 0.5, 0.0]
    held = json.loads(run("design", *promise, "--json").output)["constraints"]
    assert [one["delta"] for one in held] == [1e-6, 0.3]
    assert all(one["certified"] <= one["delta"] for one in held)


def test_mu_is_normal_noise():
    found = json.loads(run("design", "--mu", 0.5, "--json").output)
    assert (found["origin"], found["mu"], found["constraints"]) == ("Gaussian", 0.5, [])
    assert found["sigma"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["design", "--advantage", "2"], "Expected --advantage 2.0 in (0, 1)."),
        (["design", "--constraint", "1", "3"], "expected DELTA '3' to be a number in (0, 1)"),
        (["design", "--constraint", "1"], "--constraint"),
        (["design", "--sigma", "3", "--advantage", "0.2"], "Expected --sigma 3.0 to be left out"),
        (["design", "--delta", "1e-6", "--advantage", "0.2"], "Expected --epsilon to be given"),
        (["design", "--mu", "1", "--epsilon", "3"], "Expected --mu 1.0 to be alone"),
        (["design", "--sigma", "3"], "Expected --delta"),
        (["frontier", "--epsilon", "1", "--delta", "1e-6", "--points", "1"], "Expected --points 1"),
        (["frontier", "--epsilon", "1"], "--delta"),
        (["frontier", "--epsilon", "-1", "--delta", "1e-6"], "Expected --epsilon -1.0"),
        (
            ["frontier", "--epsilon", "1", "--delta", "1e-6", "--advantage", "1.5"],
            "advantages[0]=1.5 in (0, 1)",
        ),
    ],
    ids=" ".join,
)
def test_what_does_not_fit_is_one_sentence_and_exit_2(arguments, said):
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_frontier_is_a_table_json_and_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    caps = ("--advantage", 0.4, "--advantage", 0.2)
    promise = ("frontier", "--epsilon", 1, "--delta", 1e-6)
    done = run(*promise, *caps, "--plot", tmp_path / "frontier.svg")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "ε = 1 at δ = 1e-06, 1 release of 1 answer, sensitivity 1"
    head = lines[2].split("  ")
    assert head[0] == "advantage"
    assert lines[4].split()[:3] == ["0.4", "1.4028", "optimised"]
    assert lines[5].split()[0] == "0.2"
    assert "≥ 1.414" in lines[5]
    assert (tmp_path / "frontier.svg").stat().st_size > 1000
    points = json.loads(run(*promise, *caps, "--json").output)["points"]
    assert [one["advantage"] for one in points] == [0.4, 0.2]
    for one in points:
        assert one["bound"] <= one["sigma"] <= one["others"]["Gaussian"]
