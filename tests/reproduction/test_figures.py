"""The quick form of every figure and table: it runs, says what it should, and can be drawn."""

import json

import numpy as np
import pytest

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import InvalidParameterError
from leastnoise.laws.classic import gaussian, generalized_gaussian
from leastnoise.plots.style import OURS, PUBLISHED
from leastnoise.reproduction import NAMES, Options, SweepWorkers, compute, draw, reproduce
from leastnoise.reproduction.__main__ import main
from leastnoise.reproduction.beyond import profile
from leastnoise.reproduction.moments import law, optimum
from leastnoise.reproduction.published_run import epsilon, total_variation
from leastnoise.reproduction.records import (
    compact,
    less_is_better,
    more_is_better,
    read_json,
    row,
    write_json,
)
from leastnoise.reproduction.table1 import simulated

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
HERE = Options(workers=SweepWorkers(processes=1))


@pytest.fixture(scope="module")
def quick():
    known = {}

    def get(name):
        if name not in known:
            known[name] = compute(name, quick=True, options=HERE)
        return known[name]

    return get


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in ("fig4", "fig6", "fig7") else [])
        for name in NAMES
    ],
)
def test_quick_form(name, quick, tmp_path):
    record = quick(name)
    assert record["name"] == name
    assert record["quick"]
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert {"setting", "rows", "notes", "seconds", "title"} <= set(record)
    assert all(
        entry["verdict"] and (entry["ours"], entry["printed"]) != (None, None)
        for entry in record["rows"]
    )
    path = tmp_path / f"{name}.png"
    draw(record, path)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert path.stat().st_size > 10_000


def test_figure_1_values(quick):
    found = quick("fig1")["epsilon"]
    assert found["Gaussian"] == pytest.approx(1.742964, abs=2e-6)
    assert found["Laplace"] == pytest.approx(1.766745, abs=2e-6)
    assert found[OURS] < 1.6185 < found[PUBLISHED] < found["Gaussian"]


def test_figure_2_recovers_the_known_laws(quick):
    for panel in quick("fig2")["panels"].values():
        assert panel["distance"] < 0.03
        assert 0.0 <= panel["rival_excess"] < 0.02
        assert panel["gap"] < 1e-5


def test_figure_3_moments_optimum(quick):
    left = quick("fig3")["panels"]["left"]["laws"]["optimum of the moments rule"]
    assert left["order"] == pytest.approx(7.264, abs=0.01)
    assert left["moments"] == pytest.approx(6.1239, abs=1e-3)


@pytest.mark.parametrize("name", ["fig4", "fig6"])
def test_heat_maps_are_never_worse_than_a_rival(name, quick):
    record = quick(name)
    assert all(cell["gain"] >= -1e-9 for cell in record["cells"])
    assert record["shares"]["gain"] >= record["shares"]["published_gain"]
    assert all(
        cell["published"] is None or cell["ours"] <= cell["published"] for cell in record["cells"]
    )


@pytest.mark.parametrize("name", ["fig5", "fig7"])
def test_pointwise_minima(name, quick):
    for panel in quick(name)["panels"].values():
        assert panel["behind"] == 0
        assert panel["ours"] == sorted(panel["ours"])
        assert panel["peak_gain"] > panel["published_peak_gain"]


def test_table_1(quick):
    record = quick("table1")
    expected = record["expected"][0]
    assert 7.5 < expected[OURS] < 11.0
    assert expected["our joint design"] > 5.0 * expected[OURS]
    for mechanisms in record["improvement"].values():
        for mechanism, values in mechanisms.items():
            assert values[0][0] == pytest.approx(expected[mechanism], abs=5.0)  # 2 × 20,000 draws
    assert all(len(found) == 10 for found in record["queries"].values())


@pytest.mark.parametrize(
    ("dimension", "domain"), [(1, "integer"), (3, "integer"), (3, "real"), (1, "real")]
)
def test_simulated_draws_follow_the_law(dimension, domain):
    noise = generalized_gaussian(1.5, 1.0, batch=dimension, domain=domain, step=1.0)
    x = simulated(noise, 200_000, np.random.default_rng(5))
    assert x.shape == (200_000, dimension)
    assert np.std(x, axis=0) == pytest.approx(noise.std, rel=0.02)
    assert np.mean(x, axis=0) == pytest.approx(0.0, abs=0.02)
    if domain == "integer":
        radius, point = (
            np.max(np.abs(x), axis=1),
            np.bincount((x[:, 0] + 50).astype(int), minlength=101) / 200_000,
        )
        masses = noise.extended(8)
        assert np.bincount(radius.astype(int))[:6] / 200_000 == pytest.approx(masses[:6], abs=0.006)
        assert point[47:54] == pytest.approx(
            noise.cdf(np.arange(-3, 4)) - noise.cdf(np.arange(-4, 3)), abs=0.006
        )


def test_gradient_descent_is_behind_newton(quick):
    stall = quick("beyond")["stall"]
    assert stall["newton"]["excess"][-1] < 1e-8 < 1e-3 < stall["published"]["excess"][-1]


def test_reproduce_writes_records_pictures_and_pages(tmp_path, quick, monkeypatch):
    results = tmp_path / "results"
    results.mkdir()
    for name in ("fig1", "beyond"):
        write_json(results / f"{name}.json", quick(name))
    written = reproduce(["fig1", "beyond"], out=tmp_path, compute_again=False)
    assert [path.name for path in written] == [
        "fig1.json",
        "fig1.png",
        "beyond.json",
        "beyond.png",
        "README.md",
        "BEYOND.md",
    ]
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| 1.62 |" in text
    assert "results/fig1.png" in text
    assert "## The stall" in (tmp_path / "BEYOND.md").read_text(encoding="utf-8")


def test_command(tmp_path, quick, capsys):
    (tmp_path / "results").mkdir()
    write_json(tmp_path / "results" / "fig1.json", quick("fig1"))
    assert main(["fig1", "--draw-only", "--out", str(tmp_path)]) == 0
    assert "fig1.png" in capsys.readouterr().out
    assert main(["fig3", "--draw-only", "--out", str(tmp_path)]) == 2
    assert "fig3.json" in capsys.readouterr().err


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="fig9"):
        compute("fig9")
    with pytest.raises(InvalidParameterError, match="fig9"):
        reproduce(["fig9"], out=tmp_path)


def test_json_stays_small_and_valid(tmp_path):
    record = {
        "a": [1.23456789012, np.float64(2.0), np.int64(3), float("inf")],
        "b": {"c": (True, None, "δ")},
    }
    assert compact(record) == {"a": [1.234568, 2.0, 3, None], "b": {"c": [True, None, "δ"]}}
    write_json(tmp_path / "x.json", record)
    assert read_json(tmp_path / "x.json") == compact(record)


def test_rows_and_verdicts():
    assert row("q", printed=2.0, method=4.0, ours=1.0, verdict="v")["ratio"] == 0.5
    assert row("q", method=4.0, ours=1.0, verdict="v")["ratio"] == 0.25
    assert row("q", ours=1.0, verdict="v")["ratio"] is None
    assert less_is_better(1.617, 1.62, 2) == "reproduced"
    assert less_is_better(1.60, 1.62, 2) == "surpassed"
    assert less_is_better(1.64, 1.62, 2) == "not reached"
    assert more_is_better(7.1, 6.89, 2) == "surpassed"


def test_total_variation_against_the_definition():
    one, other = (
        generalized_gaussian(2.0, 1.0, domain="integer"),
        generalized_gaussian(3.0, 2.0, domain="integer"),
    )
    k = np.arange(-500, 501)
    assert total_variation(one, other) == pytest.approx(
        0.5 * np.sum(np.abs(one.pmf(k) - other.pmf(k))), rel=1e-6
    )
    assert total_variation(one, one) == pytest.approx(0.0, abs=1e-12)


def test_profile_of_one_shift_is_the_judges():
    noise = generalized_gaussian(2.0, 1.0, domain="integer")
    assert profile(noise, 1, 0.3) == pytest.approx(PrivacyLoss.of(noise, 1.0).delta(0.3), rel=1e-9)


def test_moments_optimum_beats_its_neighbours():
    best = optimum(sigma=4.0, delta=1e-6, compositions=20, bins=8)
    assert not best.at_the_end
    assert best.epsilon < 6.13
    assert epsilon(law(best.optimum, 0.125), 1e-6, 20) < epsilon(gaussian(4.0), 1e-6, 20)
