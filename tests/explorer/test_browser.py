"""The page in headless Chromium, used as people use it: pointer, keyboard, narrow screens, bad
lines, sharp tongues."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import math
import random
import re
import signal
import urllib.parse
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("selenium", reason="selenium is not installed (leastnoise[web-test])")
pytest.importorskip("uvicorn", reason="the explorer's server is not installed (leastnoise[web])")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from explorer.explorer import PATIENCE, SETTING, Server, ThreadServer, start_server
from explorer.page import CHARTS, OVERLAPS, Page, violations
from leastnoise import Box, Euclidean, OneSided, PrivacyLoss, design, gaussian, laplace
from leastnoise.artefact import read_artefact, verify
from leastnoise.cli import main
from leastnoise.explorer import tasks
from leastnoise.explorer.setting import FIELDS, PageSetting, setting_from
from leastnoise.explorer.workers import TooLongError, Workers
from leastnoise.releases.plan.file import load_plan
from leastnoise.series.law import series_law
from leastnoise.text.numbers import uncertain

BLANK = {
    "figure-width": "± not known",
    "tile-epsilon": "not known",
    "sentences": "",
    "proof": "",
    "code-python": "",
    "mini-epsilon": "",
    "file": None,
    **dict.fromkeys(CHARTS, ""),
}
START = {
    "by": "epsilon",
    "epsilon": "1",
    "sigma": "8",
    "delta": "1e-6",
    "answers": "10",
    "asked": "together",
    "sensitivity": "1",
    "domain": "integer",
    "changes": "box",
    "touched": "",
    "length": "1",
    "advantage": "",
}
PINNED = (
    "#by=sigma&asked=apart&domain=real&scale=log&a=epsilon~1~8~1e-6~10~together~1~integer"
    "&b=epsilon~2~8~1e-6~5~apart~1~integer"
)

ONE_WAY = "#changes=one-sided&domain=real&a=epsilon~1~8~1e-6~10~together~1~real"


@pytest.fixture(autouse=True)
def _no_downloads(browser: Any) -> None:
    for path in browser.downloads.iterdir():
        path.unlink()


@pytest.fixture
def page(browser: Any, server: Server) -> Page:
    return Page(browser, server.url)


def test_it_loads_and_shows_what_the_function_says(page: Page):
    page.open()
    best = design(delta=1e-6, epsilon=1.0, batch=10, domain="integer")
    assert page.text("figure-value") == "1,204 patients"
    assert page.text("figure-width") == f"± {best.noise.interval(0.95):.0f}"
    assert page.text("tile-sigma") == f"σ = {best.noise.std:.4g}"
    upper, lower = (
        float(page.text("proof").split(f"{which} bound on ε")[1].split()[0].rstrip(":"))
        for which in ("Upper", "Lower")
    )
    assert best.epsilon <= upper <= best.epsilon * (1.0 + 1e-5)
    assert best.epsilon_lower * (1.0 - 1e-5) <= lower <= best.epsilon_lower
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#sentences li")) == 4
    for chart in CHARTS:
        assert page.driver.find_elements(
            By.CSS_SELECTOR, f"#{chart} > svg[role=img][aria-label]"
        ), chart
    assert page.complaints() == []
    sources = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert sources
    assert all(source.startswith(page.url) for source in sources)


def test_moving_a_slider_moves_everything(page: Page):
    page.open()
    before = int(page.text("figure-width").removeprefix("± "))
    slider = page.driver.find_element(By.CSS_SELECTOR, "[data-slider=epsilon]")
    for _ in range(3):
        slider.send_keys(Keys.ARROW_RIGHT)
    page.settle()
    assert page.id("epsilon").get_attribute("value") == "2"
    assert slider.get_attribute("aria-valuetext") == "2"
    assert page.address() == {"epsilon": "2"}
    assert int(page.text("figure-width").removeprefix("± ")) < before
    assert page.text("tile-epsilon") == "ε = 2"
    page.choose("asked", "apart")
    page.settle()
    assert page.address() == {"epsilon": "2", "asked": "apart"}
    assert "one answer a release" in page.text("proof")


def test_what_one_person_can_change_is_asked_for_answers_together(page: Page):
    page.open("#domain=real")
    control = page.driver.find_element(By.CSS_SELECTOR, "[data-field=changes]")
    assert control.is_displayed()
    before = float(page.text("tile-sigma").removeprefix("σ = "))
    assert "replaced" not in page.text("sentences")
    page.choose("changes", "one-sided")
    page.settle()
    assert page.address() == {"domain": "real", "changes": "one-sided"}
    best = design(delta=1e-6, epsilon=1.0, batch=10, changes=OneSided())
    assert page.text("tile-sigma") == f"σ = {best.noise.std:.4g}"
    assert best.noise.std < 0.8 * before
    assert "either all of them up or all of them down" in page.text("sentences")
    assert "only where persons are added or removed" in page.text("proof")
    assert "changes=OneSided()" in page.text("code-python")
    assert "--changes one-sided" in page.text("code-command")
    assert "Lifted cube" in page.text("rivals")
    page.id("artefact").click()
    artefact = page.downloaded("noise.json")
    assert verify(artefact).ok
    assert read_artefact(artefact).guarantee.changes == OneSided()
    for name, value in (("asked", "apart"), ("answers", "1")):
        page.open(f"#domain=real&changes=one-sided&{name}={value}")
        control = page.driver.find_element(By.CSS_SELECTOR, "[data-field=changes]")
        assert not control.is_displayed()
        assert "OneSided" not in page.text("code-python")
        assert "replaced" not in page.text("sentences")
    assert page.complaints() == []


def test_few_answers_touched_and_a_length_of_all_changes(page: Page):
    page.open("#domain=real")
    fields = {
        name: page.driver.find_element(By.CSS_SELECTOR, f"[data-field={name}]")
        for name in ("touched", "length")
    }
    assert fields["touched"].is_displayed()
    assert not fields["length"].is_displayed()
    page.type("touched", "3")
    page.settle()
    best = design(delta=1e-6, epsilon=1.0, batch=10, changes=Box(3))
    assert page.text("tile-sigma") == f"σ = {best.noise.std:.4g}"
    assert "at most 3 of the answers, each by at most 1" in page.text("sentences")
    assert "--touched 3" in page.text("code-command")
    assert page.text("tile-guesses") == "Gaussian noise 54.7 %, allowed 73.2 %"
    page.choose("changes", "euclidean")
    page.settle()
    assert fields["length"].is_displayed()
    assert not fields["touched"].is_displayed()
    page.type("length", "1.5")
    page.settle()
    best = design(delta=1e-6, epsilon=1.0, batch=10, changes=Euclidean(1.5))
    assert page.text("tile-sigma") == f"σ = {best.noise.std:.4g}"
    assert "a vector of length at most 1.5" in page.text("sentences")
    assert "changes=Euclidean(1.5)" in page.text("code-python")
    assert page.run(OVERLAPS) == []
    page.id("artefact").click()
    artefact = page.downloaded("noise.json")
    assert verify(artefact).ok
    assert read_artefact(artefact).guarantee.changes == Euclidean(1.5)
    page.choose("domain", "integer")
    page.settle()
    assert "Choose real numbers" in page.text("domain-error")
    assert page.shown() == BLANK


def test_a_cap_on_the_attackers_advantage(page: Page):
    page.open("#domain=real&answers=1")
    page.type("advantage", "0.2")
    page.settle()
    best = design(delta=1e-6, epsilon=1.0, advantage=0.2)
    assert page.text("tile-sigma") == f"σ = {best.noise.std:.4g}"
    assert "--advantage 0.2" in page.text("code-command")
    page.type("advantage", "2")
    page.settle()
    assert "between 0.001 and 0.999" in page.text("advantage-error")
    page.choose("by", "sigma")
    field = page.driver.find_element(By.CSS_SELECTOR, "[data-field=advantage]")
    assert not field.is_displayed()


def test_a_space_that_is_none_is_told_beside_the_control(page: Page):
    page.open("#changes=sideways")
    assert page.text("changes-error") == "Choose box or one-sided or euclidean."
    assert page.shown() == BLANK
    page.choose("changes", "one-sided")
    page.settle()
    assert page.text("changes-error") == ""
    assert page.text("tile-epsilon") == "ε = 1"


def test_an_answer_for_another_space_is_not_shown(page: Page):
    """Noise for one-sided changes has the smaller error bar: it must not stand for the box."""
    page.open("#domain=real")
    page.run(
        """const ask = window.fetch;
        window.fetch = (address, options) => ask(String(address).replace(
          "changes=box", "changes=one-sided"), options);"""
    )
    page.type("epsilon", "2")
    page.settle()
    assert "answered for another setting" in page.text("notice")
    assert page.shown() == BLANK


def test_pins_of_addresses_that_do_not_say_what_can_change_are_read(page: Page):
    page.open(ONE_WAY)
    table = page.text("compare-body")
    assert "one person moves themall one wayeach up or down" in table
    page.id("pin-b").click()
    page.wait(lambda: "b" in page.address(), "the pin")
    assert page.address()["b"].endswith("~real~one-sided~~1~")


def test_quick_moves_ask_little_and_the_last_one_wins(page: Page):
    page.open()
    page.run("performance.clearResourceTimings()")
    page.run(
        """const slider = document.querySelector("[data-slider=sigma]");
        document.querySelector("input[name=by][value=sigma]").click();
        for (let place = 0; place <= 20; place += 1) {
          slider.value = place;
          slider.dispatchEvent(new Event("input", {bubbles: true}));
        }"""
    )
    page.settle()
    assert page.address()["sigma"] == "10"
    assert page.text("tile-sigma") == "σ = 10"
    asked = page.run(
        "return performance.getEntriesByType('resource').filter((entry) => "
        "entry.name.includes('api/design')).length"
    )
    assert asked <= 2


def test_nonsense_is_told_beside_its_field_and_nothing_typed_is_lost(page: Page):
    page.open()
    page.type("delta", "one in a million")
    page.type("answers", "many")
    page.wait(lambda: page.text("answers-error"), "the complaint")
    page.settle()
    assert page.text("delta-error") == "This is not a number; enter one such as 1e-6."
    assert page.text("answers-error") == "Enter a whole number, such as 10."
    assert page.id("delta").get_attribute("aria-invalid") == "true"
    assert "delta-error" in page.id("delta").get_attribute("aria-describedby")
    assert page.id("epsilon").get_attribute("aria-invalid") is None
    assert page.id("delta").get_attribute("value") == "one in a million"
    assert page.shown() == BLANK
    assert "This setting cannot be used" in page.text("status")
    page.driver.refresh()
    page.wait(lambda: page.text("delta-error"), "the complaint after loading anew")
    assert page.id("delta").get_attribute("value") == "one in a million"
    page.type("delta", "1e-5")
    page.type("answers", "5")
    page.settle()
    assert page.text("delta-error") == ""
    assert page.id("delta").get_attribute("aria-invalid") is None
    assert page.text("tile-epsilon") == "ε = 1"


def test_what_the_designer_cannot_reach_is_answered_with_a_known_law_and_says_what_it_can(
    page: Page,
):
    page.open("#epsilon=0.001&answers=1000&asked=apart&domain=real")
    assert "to be at least" in page.text("notice")
    assert "a known law" in page.text("notice")
    assert page.text("tile-epsilon") == "ε = 0.001"
    assert page.text("epsilon-error") == ""
    assert "# The designer has no law for this setting." in page.text("code-command")


def test_what_cannot_be_computed_says_beside_the_field_what_can(page: Page):
    page.open("#by=sigma&sigma=0.5&sensitivity=1000&domain=real", settled=False)
    page.settle()
    assert (
        page.text("sigma-error")
        == "With this sensitivity the standard deviation must be between 1 and 2,000,000."
    )
    assert page.shown() == BLANK


@pytest.mark.parametrize(
    "address",
    [
        "#",
        "#by=sigma&sensitivity=1000&sigma=400&domain=real",
        "#by=sigma&sensitivity=0.01&sigma=1&domain=real&asked=apart",
        "#by=sigma&sigma=0.4&asked=apart",
        "#changes=one-sided&touched=3",
    ],
)
def test_sliders_offer_only_what_can_be_answered(page: Page, address):
    """Every stop of every slider beside the other fields is a setting that the server takes."""
    page.open(address)
    addresses = page.run(
        """const found = [], start = location.hash;
        for (const slider of document.querySelectorAll("[data-slider]")) {
          if (!slider.checkVisibility()) continue;
          const before = slider.value, name = slider.dataset.slider,
            text = document.getElementById(name).value;
          for (let place = 0; place <= Number(slider.max); place += 1) {
            slider.value = place;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
            found.push(location.hash.slice(1));
          }
          document.getElementById(name).value = text;
          document.getElementById(name).dispatchEvent(new Event("input", {bubbles: true}));
        }
        return found"""
    )
    page.settle()
    assert len(addresses) > 60
    for one in addresses:
        given = START | dict(urllib.parse.parse_qsl(one))
        unused = "epsilon" if given["by"] == "sigma" else "sigma"
        setting_from(
            {name: given[name] for name in FIELDS if name != unused}
        )  # raises where it is refused


def test_markup_in_the_address_is_text(page: Page):
    attack = '<img src=x onerror="document.title=1">'
    page.open(
        "#"
        + urllib.parse.urlencode(
            {"unit": attack, "value": attack, "epsilon": attack, "a": "~" * 7, "b": attack}
        ),
        settled=False,
    )
    page.wait(lambda: page.text("epsilon-error"), "the complaint")
    assert not page.driver.find_elements(By.CSS_SELECTOR, "img")
    assert page.driver.title == "leastnoise explorer"
    assert attack in page.text("figure-value")


def test_two_settings_are_compared_and_the_address_carries_them(page: Page):
    page.open()
    page.id("pin-a").click()
    page.choose("asked", "apart")
    page.settle()
    page.id("pin-b").click()
    page.type("epsilon", "3")
    page.settle()
    page.wait(
        lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#compare thead th")) == 4,
        "three columns",
    )
    rows = {row[0]: row[1:] for row in _table(page, "#compare")}
    assert [float(text) for text in rows["ε"]] == pytest.approx([3.0, 1.0, 1.0], rel=1e-3)
    assert rows["answers"] == ["10, one by one", "10, together", "10, one by one"]
    again = Page(page.driver, page.url).open(
        "#" + urllib.parse.urlsplit(page.driver.current_url).fragment
    )
    again.wait(
        lambda: {row[0]: row[1:] for row in _table(again, "#compare")} == rows,
        "the same comparison",
    )
    assert again.driver.find_elements(By.CSS_SELECTOR, "#law .series.law-a")
    again.driver.find_element(By.CSS_SELECTOR, "button[aria-label='Remove setting A']").click()
    again.wait(
        lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#compare thead th")) == 3,
        "two columns",
    )
    assert "a" not in again.address()


def _table(page: Page, place: str) -> list[list[str]]:
    script = """return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]
        .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    found: list[list[str]] = page.run(script, place)
    return found


def test_what_is_downloaded_can_be_used(page: Page):
    page.open("#laws=all")
    page.id("artefact").click()
    artefact = page.downloaded("noise.json")
    result = CliRunner().invoke(main, ["verify", str(artefact)])
    assert result.output.splitlines()[-1] == "verified"
    guarantee = json.loads(artefact.read_text(encoding="utf-8"))["content"]["guarantee"]
    assert guarantee["epsilon"] <= 1.0001
    page.id("save-plan").click()
    assert load_plan(page.downloaded("plan.toml")).epsilon == 1.0
    page.id("save-svg").click()
    picture = ElementTree.parse(page.downloaded("noise.svg")).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert picture.tag == f"{space}svg"
    lines = [
        path for path in picture.iter(f"{space}path") if path.get("stroke", "").startswith("rgb")
    ]
    assert len(lines) >= 4  # laws that coincide are one line
    assert picture.find(f"{space}title").text == "The noise on one answer"


def test_code_is_copied(page: Page):
    page.open()
    page.cdp(
        "Browser.grantPermissions",
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
        origin=page.url.rstrip("/"),
    )
    for kind, begin in (
        ("python", "from leastnoise import design"),
        ("command", "leastnoise design --delta 1e-06 --epsilon 1"),
    ):
        page.driver.find_element(By.CSS_SELECTOR, f"[data-copy={kind}]").click()
        page.wait(lambda: page.text("status") == "Copied.", "the copy")
        copied = page.driver.execute_async_script(
            "navigator.clipboard.readText().then(arguments[0], (error) => "
            "arguments[0](String(error)))"
        )
        assert copied.startswith(begin)
        assert copied == page.text(f"code-{kind}")
        page.run("document.getElementById('status').textContent = ''")
    page.id("copy-link").click()
    page.wait(lambda: page.text("status") == "Copied.", "the link")


def test_a_table_is_behind_every_chart(page: Page):
    page.open("#by=sigma&asked=apart&domain=real")
    best = design(delta=1e-6, sigma=8.0, compositions=10)
    for chart in CHARTS:
        page.choose("chart", chart)
        summary = page.driver.find_element(By.CSS_SELECTOR, f"#{chart} summary")
        summary.click()
        assert len(_table(page, f"#{chart}")) >= 5, chart
        assert page.driver.find_element(By.CSS_SELECTOR, f"#{chart} table").is_displayed()
    rivals = dict(_table(page, "#rivals"))
    assert float(rivals["This design"]) == pytest.approx(best.epsilon, rel=1e-4)
    assert float(rivals["Gaussian"]) == pytest.approx(best.rivals["Gaussian"], rel=1e-4)
    head = page.run(
        "return [...document.querySelectorAll('#law thead th')].map((cell) => cell.textContent)"
    )
    assert {"This design", "Gaussian", "Laplace", "Staircase", "Cactus"} <= set(head)
    at_ten = next(row for row in _table(page, "#numbers") if row[0] == "10")
    assert float(at_ten[1]) == pytest.approx(best.epsilon, rel=5e-3)


def test_one_by_one_a_kept_draw_is_the_best_option_and_goes_with_its_setting(page: Page):
    page.open()
    assert not page.id("kept").is_displayed()
    page.choose("asked", "apart")
    page.settle()
    assert page.id("kept").is_displayed()
    law, _ = series_law(10, 1e-6, epsilon=1.0, domain="integer")
    rows = {row[0]: row[1:] for row in _table(page, "#kept-laws")}
    assert list(rows) == ["One kept draw", "This design", "Gaussian"]
    assert rows["One kept draw"][:2] == ["1", f"{law.noise.std:.4g}"]
    assert f"σ = {rows['This design'][1]}" == page.text("tile-sigma")
    assert rows["This design"][3] == page.text("tile-guess")
    assert "as secret as the data" in page.text("kept-limits")
    assert "One kept draw, below, has 3.6" in page.text("accuracy")
    assert page.text("code-kept-python").startswith("from leastnoise import open_series")
    assert "leastnoise series open analyst.series" in page.text("code-kept-command")
    buttons = page.driver.find_elements(By.CSS_SELECTOR, "#kept [data-copy]")
    assert [button.is_enabled() for button in buttons] == [True, True]
    assert page.complaints() == []

    page.choose("by", "sigma")
    texts = "kept-gain", "kept-limits", "kept-laws", "code-kept-python", "code-kept-command"
    assert [page.text(name) for name in texts] == [""] * 5  # of the setting before nothing is left
    assert not any(button.is_enabled() for button in buttons)
    page.settle()
    assert "privacy loss ε at σ = 8" in page.text("kept-laws")
    assert "sigma=8.0" in page.text("code-kept-python")
    page.choose("asked", "together")
    page.settle()
    assert not page.id("kept").is_displayed()
    assert "kept draw" not in page.text("accuracy")


def test_the_keyboard_reaches_and_works_everything(page: Page):
    page.open()
    page.run("document.body.focus()")
    reached, hidden = [], []
    for _ in range(70):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        name, outlined = page.run(
            """const node = document.activeElement;
            const shown = node.type === "radio" ? node.nextElementSibling : node;
            const style = getComputedStyle(shown);
            const name = node.id || node.name || node.dataset.slider || node.dataset.copy ||
              node.tagName;
            return [name, style.outlineStyle !== "none"]"""
        )
        reached.append(name)
        hidden += [] if outlined or name in ("BODY", "HTML") else [name]
    assert hidden == []
    wanted = [
        "by",
        "epsilon",
        "delta",
        "answers",
        "asked",
        "sensitivity",
        "domain",
        "value",
        "unit",
        "pin-a",
        "pin-b",
        "copy-link",
        "theme",
        "scale",
    ]
    wanted += ["artefact", "save-plan", "save-svg", "python", "command", "SUMMARY"]
    assert [name for name in wanted if name not in reached] == []

    page.open()
    field = page.id("epsilon")
    page.run("arguments[0].focus()", field)
    ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(
        "2"
    ).perform()
    page.settle()
    assert page.text("tile-epsilon") == "ε = 2"
    ActionChains(page.driver).send_keys(Keys.TAB, Keys.ARROW_LEFT).perform()  # the slider of ε
    page.settle()
    assert page.id("epsilon").get_attribute("value") == "1.5"
    page.run("document.querySelector('input[name=asked]:checked').focus()")
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT).perform()
    page.settle()
    assert page.address()["asked"] == "apart"
    page.run("document.getElementById('pin-a').focus()")
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    page.wait(
        lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#compare thead th")) == 3,
        "the comparison",
    )
    page.run("document.querySelector('.skip').focus()")
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert page.run("return document.activeElement.id") == "results"
    assert page.address()["asked"] == "apart"  # the skip link leaves the setting alone


@pytest.mark.parametrize("address", [PINNED, ONE_WAY], ids=["pinned", "one way"])
@pytest.mark.parametrize("width", [360, 400, 760, 1100, 1600])
def test_nothing_is_wider_than_the_screen(page: Page, width, address):
    page.open(address, width=width)
    assert page.run("return document.documentElement.scrollWidth") <= width
    out = page.run(
        """return [...document.querySelectorAll(
          ".card, .chart text, .bars text, button, .button, input, .tiles div, p, li")]
        .filter((node) => node.getClientRects().length && !node.closest(
          ".scroll, pre, .hidden, .skip"))
        .filter((node) => {
          const box = node.getBoundingClientRect();
          return box.right > innerWidth + 1 || box.left < -1; })
        .map((node) => node.outerHTML.slice(0, 120))"""
    )
    assert out == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("address", [PINNED, ONE_WAY], ids=["pinned", "one way"])
def test_no_accessibility_violation(page: Page, address, width, dark):
    page.open(address, width=width, dark=dark)
    page.run("for (const table of document.querySelectorAll('details')) table.open = true")
    assert violations(page) == []
    page.type("delta", "nonsense")
    page.wait(lambda: page.text("delta-error"), "the complaint")
    page.settle()
    assert violations(page) == []


def test_the_theme_is_chosen_and_kept(page: Page):
    page.open(dark=False)
    light = page.run("return getComputedStyle(document.body).backgroundColor")
    page.id("theme").click()
    dark = page.run("return getComputedStyle(document.body).backgroundColor")
    assert dark != light
    assert page.id("theme").get_attribute("aria-pressed") == "true"
    page.driver.refresh()
    page.settle()
    assert page.run("return getComputedStyle(document.body).backgroundColor") == dark


def test_it_prints_on_white_without_buttons(page: Page):
    page.open(PINNED, dark=True)
    page.cdp("Emulation.setEmulatedMedia", media="print")
    assert (
        page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    )
    assert not page.id("pin-a").is_displayed()
    assert not page.id("theme").is_displayed()
    pages = page.cdp("Page.printToPDF", printBackground=True)["data"]
    assert len(pages) > 10_000


def test_it_gets_its_answer_among_fifty_clients(page: Page, server: Server):
    page.open()

    def client(k: int) -> int:
        fields = SETTING | {"sigma": str(9.0 + 0.01 * k)}
        return server.get(f"/api/design?{urllib.parse.urlencode(fields)}")[0]

    with concurrent.futures.ThreadPoolExecutor(50) as clients:
        crowd = [clients.submit(client, k) for k in range(50)]
        page.type("epsilon", "1.7")
        page.settle()
        assert page.text("tile-epsilon") == "ε = 1.7"
        assert page.id("notice").is_displayed() is False
        assert {answer.result() for answer in crowd} <= {200, 503}


def _limited(monkeypatch: pytest.MonkeyPatch, *late: Callable[..., Any]) -> None:
    """For ε = 0.01 these questions take too long, and not before the known laws have been told,
    however slow the machine is."""
    answered, run = asyncio.Event(), Workers.run

    async def limited(workers: Workers, function: Any, *arguments: Any, priority: int = 0) -> Any:
        is_late = isinstance(arguments[0], PageSetting) and arguments[0].epsilon == 0.01
        if is_late and function in late:
            await answered.wait()
            raise TooLongError(3.0)
        value = await run(workers, function, *arguments, priority=priority)
        if is_late and function is tasks.known:
            answered.set()
        return value

    monkeypatch.setattr(Workers, "run", limited)


def test_after_a_time_limit_nothing_of_the_setting_before_is_left(
    browser: Any, monkeypatch: pytest.MonkeyPatch
):
    """Asked for ε = 0.01 after ε = 5: no sentence, certificate, picture, code or file of the
    latter."""
    _limited(monkeypatch, tasks.study, tasks.known_study)
    with ThreadServer(workers=2, seconds=10.0 * PATIENCE) as server:
        page = Page(browser, f"http://127.0.0.1:{server.port}/").open("#epsilon=5&answers=1")
        assert page.text("tile-epsilon") == "ε = 5"
        page.type("epsilon", "0.01")
        page.settle()
        assert "or less" in page.text("figure-width")  # the known laws, which hold for this setting
        assert (
            page.text("notice")
            == "This takes longer than the 3 seconds the page allows. The command line has no "
            "such limit."
        )
        assert page.id("notice").is_displayed()
        assert page.text("tile-epsilon") == "ε ≤ 0.01"
        assert page.text("accuracy") == "Laplace noise gives this already."
        assert page.text("code-command").startswith(
            "leastnoise design --delta 1e-06 --epsilon 0.01"
        )
        nothing = (
            "sentences",
            "proof",
            "code-python",
            "code-plan",
            "bars",
            "mini-epsilon",
            "status",
            *CHARTS,
        )
        assert {name: page.text(name) for name in nothing} == dict.fromkeys(nothing, "")
        for name in ("artefact", "save-plan", "save-svg"):
            page.run("document.getElementById(arguments[0]).click()", name)
        assert page.id("artefact").get_attribute("href") is None
        page.type("epsilon", "2")
        page.settle()
        assert page.text("notice") == ""
        assert page.text("tile-epsilon") == "ε = 2"
        page.id("artefact").click()  # what is downloaded last is there last: nothing was before it
        guarantee = json.loads(page.downloaded("noise.json").read_text(encoding="utf-8"))[
            "content"
        ]["guarantee"]
        assert 1.99 < guarantee["epsilon"] <= 2.0
        assert [path.name for path in browser.downloads.iterdir()] == ["noise.json"]
        page.type(
            "epsilon", "0.01"
        )  # again: that it takes too long is remembered, and told at once
        page.settle()
        assert "or less" in page.text("figure-width")
        browser.get("about:blank")


def test_beyond_the_time_limit_a_known_law_with_the_guarantee_asked_for_is_given(
    browser: Any, monkeypatch: pytest.MonkeyPatch
):
    _limited(monkeypatch, tasks.study)
    with ThreadServer(workers=2, seconds=10.0 * PATIENCE) as server:
        page = Page(browser, f"http://127.0.0.1:{server.port}/").open("#epsilon=5&answers=1")
        page.type("epsilon", "0.01")
        page.settle()
        assert "takes longer than the 3 seconds" in page.text("notice")
        assert "Shown is discrete Laplace noise, a known law" in page.text("notice")
        assert page.text("tile-epsilon") == "ε = 0.01"
        assert "discrete Laplace, a known law: no better one was looked for" in page.text("proof")
        for chart in CHARTS:
            assert page.driver.find_elements(By.CSS_SELECTOR, f"#{chart} > svg"), chart
        page.id("artefact").click()
        artefact = page.downloaded("noise.json")
        assert (
            json.loads(artefact.read_text(encoding="utf-8"))["content"]["guarantee"]["epsilon"]
            <= 0.01
        )
        assert (
            CliRunner().invoke(main, ["verify", str(artefact)]).output.splitlines()[-1]
            == "verified"
        )
        browser.get("about:blank")


def test_a_picture_that_takes_too_long_stays_empty_and_the_answer_stands(
    browser: Any, monkeypatch: pytest.MonkeyPatch
):
    run = Workers.run

    async def limited(workers: Workers, function: Any, *arguments: Any, priority: int = 0) -> Any:
        if function is tasks.curve and arguments[0].setting.epsilon == 2.0:
            raise TooLongError(3.0)
        return await run(workers, function, *arguments, priority=priority)

    monkeypatch.setattr(Workers, "run", limited)
    with ThreadServer(workers=2, seconds=10.0 * PATIENCE) as server:
        page = Page(browser, f"http://127.0.0.1:{server.port}/").open("#answers=1")
        page.type("epsilon", "2")
        page.settle()
        assert page.text("curve") == ""
        assert page.text("notice").startswith(
            "A picture is missing. This takes longer than the 3 seconds"
        )
        assert page.text("tile-epsilon") == "ε = 2"
        assert page.driver.find_elements(By.CSS_SELECTOR, "#numbers > svg")
        assert "&domain=integer&changes=box" in page.id("artefact").get_attribute("href")
        browser.get("about:blank")


WATCH = """window.seen = [];
const look = () => {
  const field = document.getElementById("epsilon").value;
  for (const id of ["tile-epsilon", "mini-epsilon", "status"]) window.seen.push([field,
    document.getElementById(id).textContent]);
  const upper = document.querySelector("#proof dd")?.textContent ?? "";
  window.seen.push([field, upper]);
  const link = document.getElementById("artefact").getAttribute("href");
  if (link) window.seen.push([field, "ε = " + new URLSearchParams(link.split("?")[1]).get(
    "epsilon")]);
};
new MutationObserver(look).observe(document.body, {subtree: true, childList: true,
  characterData: true, attributes: true});"""


def _is_own(field: str, text: str) -> bool:
    """Whether every ε in the text is the one in the field, or a bound just below it."""
    stated = [
        float(found)
        for found in re.findall(r"ε [=≤] ([0-9.e-]*[0-9])|^([0-9.]+) at δ", text)
        for found in found
        if found
    ]
    return all(0.99 * float(field) <= one <= 1.001 * float(field) for one in stated)


def test_at_no_moment_is_the_epsilon_of_another_setting_shown(page: Page):
    """Watched at every change of the page: moves quicker than answers, back and forward, the
    address, a reset, a second tab."""
    page.open("#answers=1")
    page.run(WATCH)
    slider = page.driver.find_element(By.CSS_SELECTOR, "[data-slider=epsilon]")
    for key in (
        Keys.ARROW_RIGHT,
        Keys.ARROW_RIGHT,
        Keys.ARROW_LEFT,
        Keys.ARROW_LEFT,
        Keys.ARROW_LEFT,
        Keys.ARROW_RIGHT,
    ):
        slider.send_keys(key)
        page.wait(
            lambda: page.run("return document.getElementById('tile-epsilon').textContent !== '…'"),
            "an answer",
        )
    page.run("location.hash = '#answers=1&epsilon=3'")
    page.wait(lambda: page.text("tile-epsilon") == "ε = 3", "the setting of the address")
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    try:
        other = Page(page.driver, page.url)
        page.driver.get(page.url + "#answers=1&epsilon=0.5")
        other.settle()
        assert other.text("tile-epsilon") == "ε = 0.5"
        page.driver.close()
    finally:
        page.driver.switch_to.window(first)
    assert page.text("tile-epsilon") == "ε = 3"
    page.driver.back()
    page.wait(lambda: page.text("tile-epsilon") == "ε = 1", "the setting before")
    page.driver.forward()
    page.wait(lambda: page.text("tile-epsilon") == "ε = 3", "and the one after it")
    page.run("document.querySelector('[type=reset]').click()")
    page.settle()
    seen = page.run("return window.seen")
    assert len(seen) > 100
    assert [pair for pair in seen if not _is_own(*pair)] == []


def test_an_answer_that_comes_after_the_setting_has_changed_is_not_shown(page: Page):
    """It comes in the pause after the change, before the next question has been asked."""
    page.open("#answers=1&epsilon=5")
    page.run(WATCH)
    page.run(
        """const ask = window.fetch, change = (text) => {
          const field = document.getElementById("epsilon");
          field.value = text;
          field.dispatchEvent(new Event("input", {bubbles: true}));
        };
        // the answer waits until the field says something else
        window.fetch = async (address, options) => {
          const {signal, ...others} = options;
          const answer = await ask(address, others);
          if (String(address).includes("api/design") && String(address).includes(
            "epsilon=4")) change("3");
          return answer;
        };
        change("4");"""
    )
    page.wait(lambda: page.text("tile-epsilon") == "ε = 3", "the answer for the last setting")
    page.settle()
    assert [pair for pair in page.run("return window.seen") if not _is_own(*pair)] == []


def test_an_answer_for_another_setting_is_not_shown(page: Page):
    """Say a proxy that keeps answers: the page looks at what the answer says it is for."""
    page.open("#answers=1")
    page.run(
        """const ask = window.fetch;
        window.fetch = (address, options) => ask(String(address).replace(
          "epsilon=2", "epsilon=5"), options);"""
    )
    page.type("epsilon", "2")
    page.settle()
    assert "answered for another setting" in page.text("notice")
    assert page.shown() == BLANK
    page.type("epsilon", "3")
    page.settle()
    assert page.text("tile-epsilon") == "ε = 3"
    page.run(
        """const ask = window.fetch;
        window.fetch = (address, options) => ask(String(address).replace(
          "noise.json?by=epsilon&epsilon=3",
          "noise.json?by=epsilon&epsilon=5"), options);"""
    )
    page.id("artefact").click()
    page.wait(lambda: "answered for another setting" in page.text("notice"), "the refusal")
    assert list(page.driver.downloads.iterdir()) == []


def test_the_pointer_reads_upper_bounds_at_the_epsilon_it_shows(page: Page):
    page.open("#by=sigma&asked=apart&domain=real&chart=curve&laws=all")
    best = design(delta=1e-6, sigma=8.0, compositions=10)
    judges = {
        "This design": PrivacyLoss.of(best.noise).compose(10),
        "Gaussian": PrivacyLoss.of(gaussian(8.0)).compose(10),
        "Laplace": PrivacyLoss.of(laplace(8.0)).compose(10),
    }
    read = page.run(
        """const chart = document.querySelector("#curve > svg"),
          box = chart.getBoundingClientRect(), found = [];
        for (let place = 60; place < box.width; place += 11) {
          chart.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + place,
            clientY: box.top + 100}));
          const tip = document.querySelector("#curve .tip");
          if (tip) found.push([...tip.children].map((line) => line.textContent));
        }
        return found"""
    )
    assert len(read) > 30
    for head, *lines in read:
        epsilon = float(head.removeprefix("ε = "))
        stated = dict(line.split(": δ ≤ ") for line in lines)
        for name, loss in judges.items():
            judged, delta = loss.delta(epsilon), _number(stated[name])
            assert judged <= delta, (name, head)
            assert delta <= 1.12 * max(judged, 1e-9), (name, head)


def _number(text: str) -> float:
    """3.1·10⁻⁷ as people read it."""
    if found := re.fullmatch(r"(?:([0-9.]+)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text):
        exponent = found[2].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        return float(f"{found[1] or 1}e{exponent}")
    return float(text.replace(",", ""))


def _formatted(page: Page, name: str, arguments: list[Any]) -> list[Any]:
    """What a function of format.js makes of each list of arguments, on the page itself."""
    page.driver.set_script_timeout(PATIENCE)
    return page.driver.execute_async_script(
        """const [name, lists, done] = arguments;
        import("/static/format.js").then(
          (format) => done(lists.map((list) => format[name](...list)))).catch((error) => done(
            [error]));""",
        name,
        arguments,
    )


def test_numbers_with_an_uncertainty_are_written_as_everywhere_else(page: Page):
    """Digit by digit: `uncertain` of format.js is `leastnoise.text.numbers.uncertain`."""
    page.open()
    choose = random.Random(7)
    pairs = [
        (
            choose.choice((1.0, -1.0)) * 10.0 ** choose.uniform(-6.0, 15.0),
            10.0 ** choose.uniform(-9.0, 12.0),
        )
        for _ in range(2000)
    ]
    pairs += [
        (round(value, choose.randint(-3, 6)), round(width, choose.randint(-3, 6)))
        for value, width in pairs
    ]
    pairs += [
        (1e308, 0.5),
        (5e-324, 1e-3),
        (0.0, 1e23),
        (0.0, 0.0),
        (-0.004, 1.0),
        (1e300, 5e-324),
        (0.5, 9.96),
        (2.5, 30.0),
    ]
    lists = [[value, width, whole] for value, width in pairs for whole in (False, True)]
    shown = _formatted(page, "uncertain", lists)
    for (value, width, whole), texts in zip(lists, shown, strict=True):
        assert tuple(texts) == uncertain(value, width, whole=whole), (value, width, whole)


def test_bounds_are_written_on_their_side(page: Page):
    page.open()
    choose = random.Random(8)
    lists = [
        [10.0 ** choose.uniform(-14.0, 6.0), digits] for _ in range(500) for digits in (2, 3, 6)
    ]
    for (value, digits), high, low in zip(
        lists, _formatted(page, "above", lists), _formatted(page, "below", lists), strict=True
    ):
        assert _number(low) <= value <= _number(high)
        assert _number(high) - _number(low) <= 1.01 * value * 10.0 ** (1 - digits)


@pytest.mark.parametrize("typed", ["1204", "1204.37", "-0.5", "298713", "about 7"])
def test_the_example_and_every_error_bar_are_never_narrower_than_the_noise(page: Page, typed: str):
    page.open(f"#by=sigma&sigma=7.9&answers=1&domain=real&value={urllib.parse.quote(typed)}")
    reach = design(delta=1e-6, sigma=7.9).noise.interval(0.95)
    _, width = uncertain(0.0, reach)
    value, about = uncertain(float(typed), reach) if typed != "about 7" else (typed, width)
    assert page.text("figure-value") == f"{value} patients"
    assert page.text("figure-width") == f"± {about}"
    assert page.text("mini-value") == f"{value} patients ± {about}"
    assert f"at most {width} in 95 of 100 cases" in page.text("accuracy")
    assert f"± {width} at 95 %" in page.text("status")
    label = page.driver.find_element(By.CSS_SELECTOR, "#bars > svg").get_attribute("aria-label")
    assert f"this design plus or minus {width}," in label
    page.id("pin-a").click()
    page.wait(lambda: "± at 95 %" in page.text("compare-body"), "the comparison")
    assert f"± at 95 %{width}{width}" in page.text("compare-body")


def test_the_drawn_curve_is_nowhere_below_the_judge(page: Page):
    """In pixels, read back from the picture by its own axes."""
    page.open("#by=sigma&asked=apart&domain=real&chart=curve")
    loss = PrivacyLoss.of(design(delta=1e-6, sigma=8.0, compositions=10).noise).compose(10)
    path, xs, ys = page.run(
        """const chart = document.querySelector("#curve > svg"),
          texts = [...chart.querySelectorAll("text:not(.label)")];
        const named = (anchor) => texts.filter((text) => text.getAttribute(
          "text-anchor") === anchor);
        const place = (text, name) => [text.textContent, Number(text.getAttribute(name))];
        return [chart.querySelector("path.law-ours").getAttribute("d"),
          named("middle").filter((text) => /^[0-9.]+$/.test(text.textContent)).map((text) =>
            place(text, "x")),
          named("end").filter((text) => !text.textContent.includes("=")).map((text) => place(
            text, "y"))]"""
    )
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML]([0-9.]+) ([0-9.]+)", path)]
    (zero, left), (one, right) = ((float(text), place) for text, place in (xs[0], xs[-1]))
    (high, top), (low, bottom) = (
        (math.log(_number(text)), place - 4.0) for text, place in (ys[0], ys[-1])
    )

    def judged(x: float) -> float:
        delta = loss.delta(max(zero + (x - left) / (right - left) * (one - zero), 0.0))
        return top + (math.log(delta) - high) / (low - high) * (bottom - top)

    assert len(points) > 100
    for (a, at_a), (b, at_b) in pairwise(points):
        for share in (0.0, 0.25, 0.5, 0.75):
            x, drawn = a + share * (b - a), at_a + share * (at_b - at_a)
            assert drawn <= judged(x) + 0.02, (
                x
            )  # pixels grow downwards, and are written with two decimals


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize(
    "address",
    [
        "",
        "#epsilon=0.01&answers=1",
        "#epsilon=0.001&asked=apart&answers=1000",
        "#by=sigma&asked=apart&domain=real&scale=log",
        "#changes=one-sided&domain=real",
    ],
    ids=["counts", "small", "beyond the designer", "sums", "one way"],
)
def test_no_text_of_a_picture_lies_on_another_or_outside_its_card(
    page: Page, address: str, width: int
):
    page.open(address, width=width)
    assert page.driver.find_elements(By.CSS_SELECTOR, "#numbers > svg")
    for chart in CHARTS:
        for laws in ("few", "all"):
            page.choose("chart", chart)
            page.choose("laws", laws)
            assert page.run(OVERLAPS) == [], (chart, laws)


def test_an_axis_over_many_decades_names_all_it_has_room_for(page: Page):
    page.open("#asked=apart&answers=1000&epsilon=5&chart=numbers")
    names = [
        text.text
        for text in page.driver.find_elements(
            By.CSS_SELECTOR, "#numbers > svg text[text-anchor=middle]"
        )
    ]
    assert {"1", "10", "100", "1,000"} <= set(names)


def test_one_picture_at_a_time_with_our_own_law_and_a_sentence_in_each(page: Page):
    page.open()
    for chart in CHARTS:
        page.choose("chart", chart)
        assert [name for name in CHARTS if page.id(name).is_displayed()] == [chart]
        assert page.driver.find_elements(By.CSS_SELECTOR, f"#{chart} svg .law-ours"), chart
        assert "ε = 1" in page.text(f"{chart}-claim")
        assert page.address().get("chart", "law") == chart
    page.choose("chart", "law")
    labels = page.run(
        "return [...document.querySelectorAll('#law .label')].map((text) => text.textContent)"
    )
    assert "This design = Cube" in labels  # drawn once, with both names


def test_back_goes_back_one_move(page: Page):
    page.open()
    page.choose("asked", "apart")
    page.settle()
    page.type("epsilon", "2")
    page.settle()
    page.driver.back()
    page.wait(lambda: page.text("tile-epsilon") == "ε = 1", "the move before")
    assert page.address() == {"asked": "apart"}
    page.driver.back()
    page.wait(lambda: page.address() == {}, "the first setting")
    page.settle()
    assert page.id("epsilon").get_attribute("value") == "1"


def test_it_is_busy_from_the_change_on(page: Page):
    """Not only when the question is sent: somebody who hears the page must not take the old numbers
    for the new ones."""
    page.open()
    states = page.run(
        """const field = document.getElementById("epsilon"), results = document.getElementById(
          "results");
        const before = results.getAttribute("aria-busy");
        field.value = "2";
        field.dispatchEvent(new Event("input", {bubbles: true}));
        return [before, results.getAttribute("aria-busy")]"""
    )
    assert states == ["false", "true"]
    page.settle()
    assert page.text("tile-epsilon") == "ε = 2"


def test_it_goes_on_when_the_server_comes_back(browser: Any):
    first = start_server("--port", "0", "--workers", "1")
    page = Page(browser, first.url).open()
    port = first.port
    first.stop(signal.SIGKILL)
    page.type("epsilon", "2")
    page.wait(lambda: "does not answer" in page.text("notice"), "the notice")
    assert page.id("epsilon").get_attribute("value") == "2"
    second = start_server("--port", str(port), "--workers", "1")
    try:
        page.wait(lambda: page.text("tile-epsilon") == "ε = 2", "the answer of the new server")
        page.settle()
        assert page.text("notice") == ""
    finally:
        browser.get("about:blank")
        second.stop()
