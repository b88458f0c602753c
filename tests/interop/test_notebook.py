"""What notebooks show: well-formed, escaped, without scripts; and the bars."""

import sys
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import pytest

from leastnoise import cube, design, discrete_laplace, exact, gaussian, laplace, sphere
from leastnoise.interop import notebook
from leastnoise.ledger.ledger import Ledger, Spend
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.result import Release
from leastnoise.text.html import bars_svg
from leastnoise.text.numbers import above


def parsed(html):
    """The HTML as XML: every tag is closed, every entity known."""
    assert "<script" not in html
    return ElementTree.fromstring(f"<div>{html}</div>")


LAWS = [
    gaussian(3.0),
    laplace(1e-6),
    discrete_laplace(0.01),
    discrete_laplace(2000.0),
    cube(8.0, 10),
    sphere(8.0, 60),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law)[:50])
def test_laws_show_themselves(law):
    tree = parsed(law._repr_html_())
    assert f"{law.std:.6g}" in "".join(tree.itertext())
    points = [point.split(",") for point in tree.find(".//polyline").attrib["points"].split()]
    assert len(points) > 0
    assert all(0.0 <= float(x) <= 260.0 and 0.0 <= float(y) <= 90.0 for x, y in points)


@pytest.mark.parametrize(
    "request_",
    [
        {"sigma": 8.0, "compositions": 10},
        {"sigma": 8.0, "batch": 10, "domain": "integer"},
        {"sigma": 4.0, "objective": "renyi", "renyi_order": 8.0},
    ],
    ids=str,
)
def test_designs_show_themselves(request_):
    best = design(delta=1e-6, **request_)
    text = "".join(parsed(best._repr_html_()).itertext())
    assert f"ε = {above(best.epsilon, 6)} at δ = 1e-06" in text
    for name in best.rivals:
        assert name in text


def test_conditions_of_a_design_are_shown():
    some = "".join(
        parsed(design(delta=1e-6, sigma=8.0, batch=100, touched=2)._repr_html_()).itertext()
    )
    assert "at most 2 of the 100 answers" in some
    assert "independent draws" in some
    uneven = "".join(
        parsed(
            design(delta=1e-6, sigma=8.0, batch=2, sensitivity=[1.0, 0.5])._repr_html_()
        ).itertext()
    )
    assert "sensitivity 0.5 to 1" in uneven
    assert "one person changes" not in uneven


def test_infinite_epsilon_is_drawn():
    assert "inf" in bars_svg({"ours": 1.0, "theirs": float("inf")}, "ε")


def test_ledger_shows_itself(tmp_path):
    with Ledger(tmp_path / "ledger") as ledger:
        assert "No data set" in ledger._repr_html_()
        ledger.open_dataset("patients <b>2024</b>", epsilon=2.0, delta=1e-6)
        law = exact(discrete_laplace(5.0), delta=1e-6)
        ledger.spend(
            "patients <b>2024</b>", [Spend(law)], plan_hash="plan", note="<script>alert(1)</script>"
        )
        html = ledger._repr_html_()
        text = "".join(parsed(html).itertext())
    assert "patients <b>2024</b>" in text
    assert "<script>alert(1)</script>" in text  # as text, not as a tag
    assert "spent" in text


def test_release_shows_itself():
    rows = tuple(
        ReleasedRow("count", "count", f"ward {k} & more", 10.0 * k, 2.0, 4.0) for k in range(70)
    )
    made = SimpleNamespace(epsilon=0.5, delta=1e-6)
    plan = SimpleNamespace(name="wards <i>", one_row_per_person=True, statistics=())
    shown = Release(plan, rows, made, "duckdb", "operating system", "2024-01-01")._repr_html_()
    text = "".join(parsed(shown).itertext())
    assert "wards <i>" in text
    assert "ward 3 & more" in text
    assert "ε = 0.5 at δ = 1e-06" in text
    assert "and 10 more" in text
    assert shown.count("<circle") == 60


def test_progress_yields_everything(capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed: pip install 'leastnoise[notebook]'")
    assert list(notebook.progress(range(5), "counting")) == [0, 1, 2, 3, 4]
    assert "counting" in capsys.readouterr().err


def test_progress_without_tqdm_is_rich(monkeypatch, capsys):
    pytest.importorskip("rich", reason="rich is not installed: pip install 'leastnoise[notebook]'")
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert list(notebook.progress([3, 4], "counting")) == [3, 4]


def test_stages_fill_bars(capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed: pip install 'leastnoise[notebook]'")
    told = notebook.stages()
    for stage in ("designing the noise", "scanning the table"):
        for share in (0.0, 0.5, 1.0):
            told(stage, share)
    shown = capsys.readouterr().err
    assert "designing the noise: 100 %" in shown
    assert "scanning the table: 100 %" in shown
