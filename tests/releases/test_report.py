"""The page for the public: complete, escaped, and free of anything but the release."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from leastnoise import laplace
from leastnoise.releases import page as pages
from leastnoise.releases import report
from leastnoise.releases.estimate import Row
from leastnoise.releases.mechanism import Law, Mechanism
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.run import Release

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
    rows = (Row(HOSTILE, "count", "", 1234.5678, 12.0, 23.5), Row("=1+1", "count", "g = a", -1.0, 12.0, 23.5))
    noise = Mechanism(
        (), (), (Law(laplace(5.0), 2, "Laplace"),), (), "product", 0.99, 1e-6, 1.4, 1.3, {"product": 1.0, "joint": 1.2}
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
        "1235",
    ):
        assert part in page
    assert "warning" not in page.split("</style>")[1]


def test_a_seeded_release_is_marked(tmp_path):
    seeded = replace(made(), entropy="INSECURE seed 1: for tests only, not private")
    assert '<p class="warning">INSECURE seed 1' in seeded.to_html(tmp_path / "r.html")
    assert (tmp_path / "r.html").exists()


def test_post_processing_is_labelled():
    page = made(postprocess=("integer", "non-negative")).to_html()
    assert "Post-processing, which costs no privacy: integer, non-negative" in page
    assert "The intervals are those of the values before it." in page


def test_registry_fields():
    record = report.registry(made(about={"curator": "A hospital", "intended_use": "Planning"}))["deployment"]
    assert list(record) == ["product", "dp_flavor", "privacy_loss", "model", "accounting", "implementation"]
    assert record["product"]["data_curators"] == ["A hospital"]
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.99, "delta": 1e-6}
    assert record["dp_flavor"]["name"] == "Approximate DP"


def test_spreadsheets_see_no_formula():
    assert "\n'=1+1,count" in made().to_csv()


@pytest.mark.parametrize(
    ("value", "std", "shown"), [(1234.5678, 12.0, "1235"), (0.123456, 0.01, "0.123"), (5.0, 0.0, "5"), (1e9, 3e7, "1000000000")]
)
def test_digits_follow_the_noise(value, std, shown):
    assert pages._shown(value, std) == shown


@pytest.mark.parametrize(
    ("value", "std", "half", "shown"),
    [(17.2345, 0.21, 0.4101, "17.23 ± 0.42"), (1234.5, 12.0, 23.1, "1234 ± 24"), (5.0, 0.0, 0.0, "5 ± 0")],
)
def test_intervals_have_the_digits_of_the_value_and_are_rounded_up(value, std, half, shown):
    assert pages.number_in_words(Row("a", "count", "", value, std, half)) == shown


def test_means_are_drawn_between_their_bounds_and_the_rest_from_zero():
    statistics = (
        Statistic("mean", name="age", column="age", lower=20, upper=90, pitch=1, missing=50, public_n=10),
        Statistic("count", name="n", group_by={"g": ["a", "b"]}),
    )
    plan = Plan("p", None, "replace", statistics, 1.0, 1e-6, one_row_per_person=True)
    rows = (
        Row("age", "mean", "", 55.0, 1.0, 2.0),
        Row("n", "count", "g = a", 100.0, 5.0, 10.0),
        Row("n", "count", "g = b", -3.0, 5.0, 10.0),
    )
    shown = replace(made(), plan=plan, rows=rows)
    assert pages.scales(shown) == {"age": (20.0, 90.0), "n": (-13.0, 110.0)}
    assert 'x1="2.00%" x2="17.61%"' in shown.to_html()  # −13 to 7 of −13 to 110, on the 96 % between the ends


def test_a_scale_holds_what_lies_beyond_the_bounds():
    statistic = Statistic("mean", name="age", column="age", lower=20, upper=90, pitch=1, missing=50, public_n=10)
    plan = Plan("p", None, "replace", (statistic,), 1.0, 1e-6, one_row_per_person=True)
    assert pages.scales(replace(made(), plan=plan, rows=(Row("age", "mean", "", 89.0, 1.0, 2.0),))) == {"age": (20.0, 91.0)}


def test_a_scale_is_never_empty():
    assert pages.scales(replace(made(), rows=(Row("n", "count", "", 0.0, 0.0, 0.0),))) == {"n": (-1.0, 1.0)}


@pytest.mark.parametrize(
    ("value", "shown"), [(0.99996, "1"), (1.00001, "1.001"), (2.71828, "2.719"), (0.5, "0.5"), (1234.5, "1235")]
)
def test_bounds_are_rounded_up(value, shown):
    assert report.rounded_up(value) == shown
    assert float(shown) >= value


def test_the_page_reads_in_the_dark_on_paper_and_on_a_telephone():
    page = made().to_html()
    for rule in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem", 'name="viewport"'):
        assert rule in page
    assert "10<sup>−6</sup>" in page
    assert "2025-01-01, 00:00 UTC" in page


def test_the_record_is_in_words():
    page = made(about={"curator": "A hospital"}).to_html()
    assert "Published by A hospital" in page
    assert "<dt>Data curators</dt><dd>A hospital</dd>" in page
    assert "<dt>DP flavor</dt>" in page
    assert "_" not in re.sub(r"<[^>]*>", "", page.split("Record for the registry")[1])
