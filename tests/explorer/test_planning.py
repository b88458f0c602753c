"""From a header to a plan: the form and the plan are one, and a newcomer gets one in a browser that
the command line takes."""

from __future__ import annotations

import contextlib
import json
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from explorer.explorer import PATIENCE, Server, request
from leastnoise.cli import main
from leastnoise.errors import PlanError
from leastnoise.explorer.plan_form import document_from, form_from, kinds
from leastnoise.explorer.planning import (
    asked_plan,
    plan_design,
    plan_first,
    plan_variant,
)
from leastnoise.releases.noise.mechanism import known_mechanism, mechanism
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.statistic import KINDS
from leastnoise.releases.plan.written import as_python, as_toml

SECRET = "Zaphod-4711"
FORM = {
    "name": "visits",
    "dataset": "visits",
    "epsilon": "1",
    "delta": "",
    "relation": "add/remove",
    "person": "patient",
    "rows_per_person": "4",
    "groups_per_person": "2",
    "source": {"csv": "visits.csv"},
    "columns": [{"name": "patient", "kind": "text"}, {"name": "year", "kind": "number"}],
    "statistics": [
        {"kind": "persons"},
        {"kind": "count", "groups": [{"column": "ward", "keys": 'north, "south, east"'}]},
        {"kind": "mean", "column": "age", "lower": "0", "upper": "100"},
    ],
}
ODD = """
name = "odd"
epsilon = 0.5
delta = 1e-9
relation = "replace"
person = "id"
rows_per_person = 3
groups_per_person = 1
person_is = "a household"
where = "year >= 2020"
[about]
title = "Odd"
[derive]
age = "2025 - born"
[[statistic]]
kind = "count"
group_by = { "ward of ä" = ["x, y", 7, true, " b"] }
[[statistic]]
kind = "sum"
column = "age"
lower = -0.5
upper = 1234.5
pitch = 0.25
missing = 3
weight = 2.0
where = "ward = 'x'"
group_by = { year = [2024, 2025], smoker = [true, false] }
"""


def question(form: dict[str, Any]) -> str:
    return json.dumps({"form": form})


def test_a_form_is_the_plan_that_init_writes(tmp_path: Path):
    pytest.importorskip("duckdb")
    pytest.importorskip("ibis")
    table = tmp_path / "visits.csv"
    table.write_text(f"patient,ward,age\n{SECRET},north,30\n", encoding="utf-8")
    told = ["init", str(table), "--out", str(tmp_path / "plan.toml"), "--person", "patient"]
    told += ["--rows-per-person", "4", "--groups-per-person", "2", "--mean", "age=0:100"]
    told += ["--by", 'ward=north,"south, east"']
    result = CliRunner().invoke(main, told)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "plan.toml").read_text(encoding="utf-8") == plan_first(question(FORM))[
        "toml"
    ]


def test_a_plan_that_goes_in_comes_out_as_it_was():
    document = tomllib.loads(ODD)
    assert plan_from(tomllib.loads(as_toml(document))) == plan_from(document)
    again = document_from(json.loads(json.dumps(form_from(document))))
    assert plan_from(again) == plan_from(document)
    space: dict[str, Any] = {}
    exec(as_python(tomllib.loads(as_toml(document_from(FORM)))), space)
    assert space["plan"] == plan_from(document_from(FORM))


def test_fields_are_read_in_the_kind_of_their_column():
    groups = [{"column": "year", "keys": "2024, 2025"}, {"column": "ward", "keys": "1, 2"}]
    form = FORM | {"statistics": [{"kind": "count", "groups": groups}]}
    (found,) = document_from(form)["statistic"]
    assert found["group_by"] == {"year": [2024, 2025], "ward": ["1", "2"]}
    for field, message in (
        ({"epsilon": "one"}, "epsilon is 'one', which is no number"),
        ({"more": "x ="}, "are not TOML"),
        (
            {"statistics": [{"kind": "count", "groups": [{"column": "w", "keys": " , "}]}]},
            "no keys",
        ),
        (
            {"statistics": [{"kind": "count", "groups": [{"column": "year", "keys": "x"}]}]},
            "no num",
        ),
    ):
        with pytest.raises(PlanError, match=message):
            document_from(FORM | field)
    for nonsense in ("", "[]", "{}", "nonsense", '{"form": 1}', "[" * 100_000):
        with pytest.raises(PlanError):
            asked_plan(nonsense)


def test_kinds_are_those_of_plans():
    assert [one["kind"] for one in kinds()] == list(KINDS)
    measured = {one["kind"] for one in kinds() if one["has_column"] and one["has_bounds"]}
    assert {"sum", "mean", "variance"} <= measured
    assert not measured & {"count", "persons", "histogram"}


def test_the_first_answer_is_gaussian_noise_of_the_same_guarantee():
    form = FORM | {"statistics": FORM["statistics"][:1], "delta": "1e-8"}
    _, plan = asked_plan(question(form))
    known, best = known_mechanism(plan), mechanism(plan)
    assert known.epsilon <= 1.0
    assert known.std(0) >= best.std(0)
    first, made = plan_first(question(form)), plan_design(question(form))
    assert first["is_first"]
    assert first["statistics"][0]["half_width"] > made["statistics"][0]["half_width"]
    assert known.std(0) == pytest.approx(best.gaussian_factor * best.std(0), rel=0.1)


def test_what_would_make_it_better_is_designed():
    groups = [{"column": "ward", "keys": "north, south"}]
    rows = {**FORM, "person": None, "statistics": [{"kind": "count", "groups": groups}]}
    made = plan_design(question(rows))
    total, *_ = made["variants"]
    assert total["title"] == "The number of rows as well"
    found = plan_variant(json.dumps({"toml": total["toml"]}))
    assert [one["statistic"] for one in found["statistics"]] == ["count by ward", "count"]
    mean = {"kind": "sum", "column": "age", "lower": "0", "upper": "100"}
    one = plan_design(question(FORM | {"statistics": [mean]}))
    half = next(each for each in one["variants"] if each["title"].startswith("Half the range"))
    less = plan_variant(json.dumps({"toml": half["toml"]}))
    before, after = (each["statistics"][0]["half_width"] for each in (one, less))
    assert after == pytest.approx(0.5 * before, rel=0.01)


# The server


def posted(server: Server, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
    told = {"content-type": "application/json"} | headers
    status, _, answer = request(server.port, path, told, "POST", body)
    return status, json.loads(answer)


def test_a_plan_is_posted_from_this_page_alone(server: Server):
    body = question(FORM | {"statistics": [{"kind": "persons"}]}).encode()
    status, answer = posted(server, "/api/plan/first", body)
    assert (status, answer["statistics"][0]["statistic"]) == (200, "persons")
    for changed, refused in (
        ({"content-type": "text/plain"}, 415),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "elsewhere.example"}, 421),
    ):
        assert posted(server, "/api/plan/first", body, **changed)[0] == refused
    assert posted(server, "/api/plan/first", b" " * (65 << 10))[0] == 413
    assert posted(server, "/api/design", body)[0] == 405
    status, answer = posted(server, "/api/plan/first", b'{"toml": "name = 1"}')
    assert status == 422
    assert "declares" in answer["error"] or "Expected" in answer["error"]
    assert posted(server, "/api/plan/first", b"\xff")[0] == 422


def test_a_plan_has_its_time_however_it_is_sent():
    """A body that is promised and does not come keeps its place no longer than a request may."""
    from explorer.explorer import ThreadServer, until

    with ThreadServer(workers=1, request_seconds=0.2) as server:
        server.idle()
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            head = "POST /api/plan/first HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            slow.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
            slow.settimeout(PATIENCE)
            with contextlib.suppress(ConnectionResetError):
                assert slow.recv(1) == b""
        until(lambda: not server.connections, "the place is free again")


# In a browser


@pytest.fixture
def page(browser: Any, server: Server) -> Any:
    from explorer.page import Page

    found = Page(browser, server.url)
    for path in browser.downloads.iterdir():
        path.unlink()
    return found


def open_plan(page: Any, **how: Any) -> None:
    page.open("plan.html", settled=False, **how)
    page.wait(lambda: page.run("return document.body.dataset.ready"), "the kinds of statistics")
    page.run(
        """window.sent = []; const real = window.fetch;
        window.fetch = (address, how) => { window.sent.push(how?.body ?? ""); return real(
          address, how); }"""
    )


def fill(page: Any, selector: str, value: str, kind: str = "input") -> None:
    page.run(
        """const field = document.querySelector(arguments[0]); field.value = arguments[1];
        field.dispatchEvent(new Event(arguments[2], {bubbles: true}))""",
        selector,
        value,
        kind,
    )


def test_a_newcomer_makes_a_plan_that_the_command_line_takes(page: Any, tmp_path: Path):
    table = tmp_path / "visits.csv"
    table.write_text(f"patient;ward;age\n{SECRET};north;30\n", encoding="utf-8")
    open_plan(page)
    page.id("file").send_keys(str(table))
    page.wait(lambda: page.text("table-said"), "the names")
    assert page.text("table-said") == "visits.csv: 3 columns (patient, ward, age)"
    page.settle()
    assert page.id("person").get_attribute("value") == "patient"  # what looks like a person
    page.id("add").click()
    page.run("document.querySelector('[data-index=\"1\"] .row button').click()")
    fill(page, '[data-index="1"] .grouping input', "north, south")
    page.settle()
    toml = page.text("code")
    assert 'group_by = { "ward" = ["north", "south"] }' in toml
    assert 'delimiter = ";"' in toml
    widths = page.run(
        "return [...document.querySelectorAll('#numbers .pm')].map((cell) => cell.textContent)"
    )
    assert len(widths) == 2
    assert all(text.startswith("± ") for text in widths)
    assert page.run("return document.querySelectorAll('#better li').length") >= 2
    page.id("save").click()
    saved = page.downloaded("plan.toml")
    plan = tmp_path / "plan.toml"
    plan.write_text(saved.read_text(encoding="utf-8"), encoding="utf-8")
    result = CliRunner().invoke(main, ["check", str(plan), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert [one["statistic"] for one in told["statistics"]] == ["persons", "count by ward"]
    assert told["statistics"][0]["error"].startswith(widths[0])
    sent = page.run("return window.sent.join()")
    assert SECRET not in sent
    assert SECRET not in page.driver.page_source
    # groups without keys were told, as they should be, and nothing else went wrong
    assert [text for text in page.complaints() if "status of 422" not in text] == []


def test_a_plan_goes_in_again_is_compared_and_back_goes_back(page: Any, tmp_path: Path):
    plan = tmp_path / "mine.toml"
    plan.write_text(
        'name = "mine"\nepsilon = 1.0\nrelation = "add/remove"\none_row_per_person = true\n'
        '[[statistic]]\nkind = "count"\n',
        encoding="utf-8",
    )
    open_plan(page)
    page.id("file").send_keys(str(plan))
    page.wait(lambda: "mine" in page.text("code"), "the plan")
    page.settle()
    page.id("pin").click()
    fill(page, "#epsilon", "2")
    page.settle()
    rows = page.run(
        """return [...document.querySelectorAll("#compared tbody tr")].map((row) =>
          [...row.children].map((cell) => cell.textContent))"""
    )
    assert rows[0] == ["ε", "2", "1"]
    now, before = (float(cell.removeprefix("± ")) for cell in rows[2][1:])
    assert now < before
    page.driver.back()
    page.wait(lambda: "epsilon = 1.0" in page.text("code"), "the plan before")
    assert page.id("epsilon").get_attribute("value") == "1"
    fill(page, "#epsilon", "nonsense")
    page.wait(lambda: "no number" in page.text("notice"), "the complaint")
    page.settle()
    assert page.id("save").get_attribute("disabled")
    assert page.text("code") == ""


def test_a_parquet_files_schema_is_read_in_the_browser(page: Any, tmp_path: Path):
    duckdb = pytest.importorskip("duckdb")
    table = tmp_path / "t.parquet"
    with duckdb.connect() as made:
        columns = f"""'{SECRET}' as who, 1.5::double as x, 3::bigint as n, true as c,
          date '2025-01-01' as d, timestamp '2025-01-01' as t, [1] as e, 2.5::decimal(9, 2) as p,
          {{'a': 1, 'b': 'x'}} as s, 7::tinyint as "last ä" """
        made.execute(f"copy (select {columns}) to '{table}' (format parquet)")
    open_plan(page)
    page.id("file").send_keys(str(table))
    page.wait(lambda: page.text("table-said"), "the names")
    expected = "who, x, n, c, d, t, e, p, s, last ä"
    assert page.text("table-said") == f"t.parquet: 10 columns ({expected})"
    page.settle()
    kinds = [one["kind"] for one in page.run("return history.state.form.columns")]
    whole, other = ["number"], ["other"]
    assert kinds == ["text", *whole, *whole, "truth", "day", "day", *other, *whole, *other, *whole]
    assert SECRET not in page.run("return window.sent.join() + document.body.innerHTML")
    broken = tmp_path / "broken.parquet"
    content = table.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = len(content) - 8 - length
    for wrong in (
        b"PAR1",
        content[:-8] + b"\xff\xff\x00\x00PAR1",
        content[:footer] + b"\xff" * 20 + content[footer + 20 :],
        content[:footer] + (8).to_bytes(4, "little") + b"PAR1",
    ):
        broken.write_bytes(wrong)
        page.run("document.getElementById('file-error').textContent = ''")
        page.id("file").send_keys(str(broken))
        page.wait(lambda: page.text("file-error"), "the complaint")
        assert "10 columns" in page.text("table-said")  # the table that was read stays


def test_a_first_line_that_is_a_row_is_not_shown(page: Any, tmp_path: Path):
    table = tmp_path / "rows.csv"
    table.write_text(f"{SECRET},north,30\n", encoding="utf-8")
    open_plan(page)
    page.id("file").send_keys(str(table))
    page.wait(lambda: "does not hold the names" in page.text("file-error"), "the complaint")
    assert SECRET not in page.driver.page_source


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_it_is_accessible_and_fits(page: Any, width: int, dark: bool):
    from explorer.page import violations

    open_plan(page, width=width, dark=dark)
    assert violations(page) == []
    page.id("example").click()
    page.settle()
    page.id("pin").click()
    page.id("add").click()
    page.run("document.querySelector('[data-index=\"1\"] .row button').click()")
    page.wait(lambda: "no keys" in page.text("notice"), "what is missing")
    page.run("for (const part of document.querySelectorAll('details')) part.open = true")
    assert violations(page) == []
    assert page.run("return document.documentElement.scrollWidth") <= width
