"""The page for the public: complete, escaped, and free of anything but the release."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from leastnoise import laplace
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.noise.mechanism import Mechanism, SampledLaw
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.report.guarantee import in_words
from leastnoise.releases.report.html import scales
from leastnoise.releases.report.registry import registry
from leastnoise.releases.result import Release

HOSTILE = "<script>alert('x')</script> & é"


def made(**more):
    plan = Plan(
        HOSTILE,
        None,
        "add/remove",
        (Statistic("count", name=HOSTILE), Statistic("count", name="=1+1", group_by={"g": ["a"]})),
        1.0,
        1e-6,
        person="id",
        rows_per_person=3,
        groups_per_person=2,
        **more,
    )
    rows = (
        ReleasedRow(HOSTILE, "count", "", 1234.5678, 12.0, 23.5),
        ReleasedRow("=1+1", "count", "g = a", -1.0, 12.0, 23.5),
    )
    noise = Mechanism(
        (),
        (),
        (SampledLaw(laplace(5.0), 2, "Laplace"),),
        (),
        "product",
        0.99,
        1e-6,
        1.4,
        1.3,
        {"product": 1.0, "joint": 1.2},
    )
    return Release(plan, rows, noise, "duckdb", "operating system", "2025-01-01T00:00:00+00:00")


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "line", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "circle"):
            assert self.open.pop() == tag


def test_the_page_is_whole_and_escaped():
    page = made().to_html()
    parsed = Balanced()
    parsed.feed(page)
    assert parsed.open == []
    assert "script" not in parsed.tags
    assert parsed.tags.count("svg") == 2
    assert not re.search(r"(src|href)=", page)
    for part in (
        "What is guaranteed",
        "e^ε = 2.69",
        "at most 3 rows in at most 2 groups",
        "1.2 times the noise",
        "ε = 1.4",
        "1,235",
    ):
        assert part in page
    assert "warning" not in page.split("</style>")[1]


@pytest.mark.parametrize(
    ("relation", "compared"),
    [
        ("add/remove", "the same release made without any one person"),
        ("replace", "made with another person in the place"),
    ],
)
def test_the_guarantee_is_a_comparison_of_two_releases(relation, compared):
    """It bounds what a release makes likelier, not what somebody may come to believe: correlated
    knowledge has no such bound."""
    shown = replace(made(), plan=replace(made().plan, relation=relation))
    for text in (in_words(shown), shown.to_html()):
        assert compared in text
        assert "2.69" in text
        assert "learnt about a person" in text
        assert "odds they give" not in text


def test_no_text_bounds_what_somebody_may_believe():
    root = Path(__file__).resolve().parents[2]
    texts = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "src").rglob("*.py")]
    for path in texts:
        assert "change the odds" not in path.read_text(encoding="utf-8"), path
        assert "odds of any" not in path.read_text(encoding="utf-8"), path


def test_a_seeded_release_is_marked(tmp_path):
    seeded = replace(made(), entropy="INSECURE seed 1: for tests only, not private")
    assert '<p class="warning">INSECURE seed 1' in seeded.to_html(tmp_path / "r.html")
    assert (tmp_path / "r.html").exists()


def test_post_processing_is_labelled():
    page = made(postprocess=("integer", "non-negative")).to_html()
    assert "Post-processing, which costs no privacy: integer, non-negative" in page
    assert "The intervals are those of the values before it." in page


def test_registry_fields():
    record = registry(made(about={"curator": "A hospital", "intended_use": "Planning"}))[
        "deployment"
    ]
    assert list(record) == [
        "product",
        "dp_flavor",
        "privacy_loss",
        "model",
        "accounting",
        "implementation",
    ]
    assert record["product"]["data_curators"] == ["A hospital"]
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.99, "delta": 1e-6}
    assert record["dp_flavor"]["name"] == "Approximate DP"


def test_spreadsheets_see_no_formula():
    assert "\n'=1+1,count" in made().to_csv()


@pytest.mark.parametrize(
    ("kind", "value", "half", "shown"),
    [
        ("mean", 17.2345, 0.4101, "17.23 ± 0.42"),
        ("mean", 17.2349, 0.51401, "17.23 ± 0.52"),
        ("count", 1234.5, 23.1, "1,234 ± 24"),
        ("count", 1685.4, 8.3, "1,685 ± 9"),
        ("other keys", 12.0, 3.0, "12 ± 3"),
        ("count", 5.0, 0.0, "5 ± 0"),
        ("mean", None, float("nan"), "too few to say"),
    ],
)
def test_numbers_have_two_digits_of_their_interval_and_counts_are_whole(kind, value, half, shown):
    assert ReleasedRow("a", kind, "", value, half / 2, half).in_words() == shown


def test_every_place_shows_the_same_numbers(monkeypatch):
    """Terminal, page, notebook and pictures; 0.51401 was ± 0.51 on the terminal and ± 0.52 on the
    page."""
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    from leastnoise.cli import release as terminal
    from leastnoise.plots import release_bars

    rows = (
        ReleasedRow(HOSTILE, "mean", "", 17.2349, 0.26, 0.51401),
        ReleasedRow("=1+1", "count", "g = a", 4321.0, 12.0, 23.5),
    )
    shown = replace(made(), rows=rows)
    printed = []
    monkeypatch.setattr(terminal.click, "echo", lambda text="", **more: printed.append(text))
    terminal._show_release(shown, None, "", ())
    texts = {
        "terminal": " ".join("\n".join(printed).split()),
        "page": re.sub("<[^>]*>", " ", shown.to_html()),
        "notebook": re.sub("<[^>]*>", " ", shown._repr_html_()),
        "picture": " ".join(text.get_text() for text in release_bars(shown).texts),
    }
    pyplot.close("all")
    for place, text in texts.items():
        for value, width in (("17.23", "0.52"), ("4,321", "24")):
            assert re.search(rf"{value}\s*(±\s*)?{width}\b", text), place


def test_means_are_drawn_between_their_bounds_and_the_rest_from_zero():
    statistics = (
        Statistic(
            "mean", name="age", column="age", lower=20, upper=90, pitch=1, missing=50, public_n=10
        ),
        Statistic("count", name="n", group_by={"g": ["a", "b"]}),
    )
    plan = Plan("p", None, "replace", statistics, 1.0, 1e-6, one_row_per_person=True)
    rows = (
        ReleasedRow("age", "mean", "", 55.0, 1.0, 2.0),
        ReleasedRow("n", "count", "g = a", 100.0, 5.0, 10.0),
        ReleasedRow("n", "count", "g = b", -3.0, 5.0, 10.0),
    )
    shown = replace(made(), plan=plan, rows=rows)
    assert scales(shown) == {"age": (20.0, 90.0), "n": (-13.0, 110.0)}
    assert (
        'x1="2.00%" x2="17.61%"' in shown.to_html()
    )  # −13 to 7 of −13 to 110, on the 96 % between the ends


def test_a_scale_holds_what_lies_beyond_the_bounds():
    statistic = Statistic(
        "mean", name="age", column="age", lower=20, upper=90, pitch=1, missing=50, public_n=10
    )
    plan = Plan("p", None, "replace", (statistic,), 1.0, 1e-6, one_row_per_person=True)
    assert scales(
        replace(made(), plan=plan, rows=(ReleasedRow("age", "mean", "", 89.0, 1.0, 2.0),))
    ) == {"age": (20.0, 91.0)}
    few = (ReleasedRow("age", "mean", "", None, float("nan"), float("nan")),)
    assert scales(replace(made(), plan=plan, rows=few)) == {"age": (20.0, 90.0)}


def test_a_scale_is_never_empty():
    assert scales(replace(made(), rows=(ReleasedRow("n", "count", "", 0.0, 0.0, 0.0),))) == {
        "n": (-1.0, 1.0)
    }


def test_the_page_reads_in_the_dark_on_paper_and_on_a_telephone():
    page = made().to_html()
    for rule in (
        "prefers-color-scheme: dark",
        "@media print",
        "max-width: 40rem",
        'name="viewport"',
    ):
        assert rule in page
    assert "10<sup>−6</sup>" in page
    assert "2025-01-01, 00:00 UTC" in page


def test_the_record_is_in_words():
    page = made(about={"curator": "A hospital"}).to_html()
    assert "Published by A hospital" in page
    assert "<dt>Data curators</dt><dd>A hospital</dd>" in page
    assert "<dt>DP flavor</dt>" in page
    assert "_" not in re.sub(r"<[^>]*>", "", page.split("Record for the registry")[1])
