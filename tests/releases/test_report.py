"""The page for the public: complete, escaped, and free of anything but the release."""

import re
from html.parser import HTMLParser

import pytest

from leastnoise import laplace
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
    from dataclasses import replace

    seeded = replace(made(), entropy="INSECURE seed 1: for tests only, not private")
    assert '<p class="warning">INSECURE seed 1' in seeded.to_html(tmp_path / "r.html")
    assert (tmp_path / "r.html").exists()


def test_post_processing_is_labelled():
    assert "Post-processing, which costs no privacy: integer, totals" in made(postprocess=("integer", "totals")).to_html()


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
    assert report._shown(value, std) == shown
