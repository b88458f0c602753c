"""The page in headless Chromium, used as people use it: pointer, keyboard, narrow screens, bad lines, sharp tongues."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import signal
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("selenium", reason="selenium is not installed (leastnoise[web-test])")
pytest.importorskip("uvicorn", reason="the explorer's server is not installed (leastnoise[web])")

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from leastnoise import design
from leastnoise.cli import main
from leastnoise.releases.plan_file import load_plan
from leastnoise.web import work
from leastnoise.web.workers import TooLongError, Workers
from web.explorer import PATIENCE, SETTING, Server, ThreadServer, start_server

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
CHARTS = ("law", "curve", "numbers", "rivals")
PINNED = "#by=sigma&asked=apart&domain=real&scale=log&a=epsilon~1~8~1e-6~10~together~1~integer&b=epsilon~2~8~1e-6~5~apart~1~integer"


class Page:
    """The explorer in a browser tab."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver, self.url = driver, url

    def open(self, address: str = "", *, width: int = 1600, dark: bool = False, settled: bool = True) -> Page:
        self.driver.get("about:blank")  # a change after the # alone would not load the page anew
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        self.driver.get_log("browser")
        self.driver.get(self.url + address)
        self.run("localStorage.clear()")
        if settled:
            self.settle()
        return self

    def cdp(self, name: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, arguments)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def id(self, name: str) -> Any:
        return self.driver.find_element(By.ID, name)

    def text(self, name: str) -> str:
        return str(self.run("return document.getElementById(arguments[0]).textContent", name))

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if found := condition():
                    return found
            except StaleElementReferenceException:
                pass
            time.sleep(0.05)
        raise AssertionError(
            f"{what}: not within {PATIENCE} seconds; the page says {self.text('notice')!r}, {self.text('status')!r}"
        )

    def settle(self) -> None:
        """Until everything asked for is there: the page is busy from the change on, also while it waits for further moves."""
        self.wait(lambda: self.run("return document.getElementById('results').getAttribute('aria-busy')") == "false", "an answer")

    def type(self, name: str, text: str) -> None:
        field = self.id(name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)

    def choose(self, name: str, value: str) -> None:
        self.run("document.querySelector(`input[name=${arguments[0]}][value=${arguments[1]}]`).click()", name, value)

    def address(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.driver.current_url).fragment))

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def downloaded(self, name: str) -> Path:
        path = self.driver.downloads / name
        self.wait(lambda: path.exists() and path.stat().st_size > 0, f"the file {name}")
        return Path(path)


@pytest.fixture
def page(browser: Any, server: Server) -> Page:
    for path in browser.downloads.iterdir():
        path.unlink()
    return Page(browser, server.url)


def test_it_loads_and_shows_what_the_function_says(page: Page):
    page.open()
    best = design(delta=1e-6, epsilon=1.0, batch=10, domain="integer")
    assert page.text("figure-value") == "1,204 patients"
    assert page.text("figure-width") == f"± {best.noise.interval(0.95):.0f}"
    assert page.text("tile-sigma") == f"σ = {best.noise.std:.4g}"
    upper, lower = (
        float(page.text("proof").split(f"{which} bound on ε")[1].split()[0].rstrip(":")) for which in ("Upper", "Lower")
    )
    assert best.epsilon <= upper <= best.epsilon * (1.0 + 1e-5)
    assert best.epsilon_lower * (1.0 - 1e-5) <= lower <= best.epsilon_lower
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#sentences li")) == 4
    for chart in CHARTS:
        assert page.driver.find_elements(By.CSS_SELECTOR, f"#{chart} > svg[role=img][aria-label]"), chart
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
    asked = page.run("return performance.getEntriesByType('resource').filter((entry) => entry.name.includes('api/design')).length")
    assert asked <= 2


def test_nonsense_is_told_beside_its_field_and_nothing_is_lost(page: Page):
    page.open()
    before = page.text("figure-width")
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
    assert page.text("figure-width") == before
    assert "last good setting" in page.text("status")
    page.driver.refresh()
    page.wait(lambda: page.text("delta-error"), "the complaint after loading anew")
    assert page.id("delta").get_attribute("value") == "one in a million"
    page.type("delta", "1e-5")
    page.type("answers", "5")
    page.settle()
    assert page.text("delta-error") == ""
    assert page.id("delta").get_attribute("aria-invalid") is None
    assert page.text("tile-epsilon") == "ε = 1"


def test_what_cannot_be_designed_is_said_beside_the_field(page: Page):
    page.open("#epsilon=0.001&answers=1000&asked=apart&domain=real", settled=False)
    page.wait(lambda: "to be at least" in page.text("epsilon-error"), "the complaint of the designer")


def test_markup_in_the_address_is_text(page: Page):
    attack = '<img src=x onerror="document.title=1">'
    page.open(
        "#" + urllib.parse.urlencode({"unit": attack, "value": attack, "epsilon": attack, "a": "~" * 7, "b": attack}), settled=False
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
    page.wait(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#compare thead th")) == 4, "three columns")
    rows = {row[0]: row[1:] for row in _table(page, "#compare")}
    assert [float(text) for text in rows["ε"]] == pytest.approx([3.0, 1.0, 1.0], rel=1e-3)
    assert rows["answers"] == ["10, one by one", "10, together", "10, one by one"]
    again = Page(page.driver, page.url).open("#" + urllib.parse.urlsplit(page.driver.current_url).fragment)
    again.wait(lambda: {row[0]: row[1:] for row in _table(again, "#compare")} == rows, "the same comparison")
    assert again.driver.find_elements(By.CSS_SELECTOR, "#law .series.law-a")
    again.driver.find_element(By.CSS_SELECTOR, "button[aria-label='Remove setting A']").click()
    again.wait(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#compare thead th")) == 3, "two columns")
    assert "a" not in again.address()


def _table(page: Page, place: str) -> list[list[str]]:
    script = """return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]
        .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    found: list[list[str]] = page.run(script, place)
    return found


def test_what_is_downloaded_can_be_used(page: Page):
    page.open()
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
    lines = [path for path in picture.iter(f"{space}path") if path.get("stroke", "").startswith("rgb")]
    assert len(lines) >= 5
    assert picture.find(f"{space}title").text == "The noise on one answer"


def test_code_is_copied(page: Page):
    page.open()
    page.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=page.url.rstrip("/"))
    for kind, begin in (("python", "from leastnoise import design"), ("command", "leastnoise design --delta 1e-06 --epsilon 1")):
        page.driver.find_element(By.CSS_SELECTOR, f"[data-copy={kind}]").click()
        page.wait(lambda: page.text("status") == "Copied.", "the copy")
        copied = page.driver.execute_async_script(
            "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](String(error)))"
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
        summary = page.driver.find_element(By.CSS_SELECTOR, f"#{chart} summary")
        summary.click()
        assert len(_table(page, f"#{chart}")) >= 5, chart
        assert page.driver.find_element(By.CSS_SELECTOR, f"#{chart} table").is_displayed()
    rivals = dict(_table(page, "#rivals"))
    assert float(rivals["This design"]) == pytest.approx(best.epsilon, rel=1e-4)
    assert float(rivals["Gaussian"]) == pytest.approx(best.rivals["Gaussian"], rel=1e-4)
    head = page.run("return [...document.querySelectorAll('#law thead th')].map((cell) => cell.textContent)")
    assert {"This design", "Gaussian", "Laplace", "Staircase", "Cactus"} <= set(head)
    at_ten = next(row for row in _table(page, "#numbers") if row[0] == "10")
    assert float(at_ten[1]) == pytest.approx(best.epsilon, rel=5e-3)


def test_the_keyboard_reaches_and_works_everything(page: Page):
    page.open()
    page.run("document.body.focus()")
    reached, hidden = [], []
    for _ in range(70):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        name, outlined = page.run(
            """const node = document.activeElement; const shown = node.type === "radio" ? node.nextElementSibling : node;
            const style = getComputedStyle(shown);
            const name = node.id || node.name || node.dataset.slider || node.dataset.copy || node.tagName;
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
    ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys("2").perform()
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
    page.wait(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#compare thead th")) == 3, "the comparison")
    page.run("document.querySelector('.skip').focus()")
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert page.run("return document.activeElement.id") == "results"
    assert page.address()["asked"] == "apart"  # the skip link leaves the setting alone


@pytest.mark.parametrize("width", [360, 400, 760, 1100, 1600])
def test_nothing_is_wider_than_the_screen(page: Page, width):
    page.open(PINNED, width=width)
    assert page.run("return document.documentElement.scrollWidth") <= width
    out = page.run(
        """return [...document.querySelectorAll(".card, .chart text, .bars text, button, .button, input, .tiles div, p, li")]
        .filter((node) => node.getClientRects().length && !node.closest(".scroll, pre, .hidden, .skip"))
        .filter((node) => { const box = node.getBoundingClientRect(); return box.right > innerWidth + 1 || box.left < -1; })
        .map((node) => node.outerHTML.slice(0, 120))"""
    )
    assert out == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_no_accessibility_violation(page: Page, width, dark):
    page.open(PINNED, width=width, dark=dark)
    page.run("for (const table of document.querySelectorAll('details')) table.open = true")
    assert _violations(page) == []
    page.type("delta", "nonsense")
    page.wait(lambda: page.text("delta-error"), "the complaint")
    page.settle()
    assert _violations(page) == []


def _violations(page: Page) -> list[str]:
    page.run(AXE)
    found = page.driver.execute_async_script(
        """axe.run(document, {resultTypes: ["violations"]})
        .then((found) => arguments[0](found.violations), (error) => arguments[0]([{id: String(error), nodes: []}]))"""
    )
    return [f"{one['id']}: {[node['html'][:150] for node in one['nodes']][:4]}" for one in found]


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
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
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


def test_a_setting_beyond_the_time_limit_keeps_the_first_answer(browser: Any, monkeypatch: pytest.MonkeyPatch):
    """The limit passes for the one setting, and not before its known laws have been told, however slow the machine is."""
    answered, run = asyncio.Event(), Workers.run

    async def limited(workers: Workers, function: Any, *arguments: Any, priority: int = 0) -> Any:
        if function is work.study and arguments[0].sensitivity == 97.0:
            await answered.wait()
            raise TooLongError(3.0)
        value = await run(workers, function, *arguments, priority=priority)
        if function is work.known and arguments[0].sensitivity == 97.0:
            answered.set()
        return value

    monkeypatch.setattr(Workers, "run", limited)
    with ThreadServer(workers=2, seconds=10.0 * PATIENCE) as server:
        page = Page(browser, f"http://127.0.0.1:{server.port}/").open("#sensitivity=97", settled=False)
        page.wait(lambda: "takes longer than the 3 seconds" in page.text("notice"), "the time limit")
        assert page.id("notice").is_displayed()
        page.wait(lambda: "or less" in page.text("figure-width"), "the known laws")
        page.type("sensitivity", "1")
        page.settle()
        assert page.text("notice") == ""
        assert page.text("tile-epsilon") == "ε = 1"
        browser.get("about:blank")


def test_it_is_busy_from_the_change_on(page: Page):
    """Not only when the question is sent: somebody who hears the page must not take the old numbers for the new ones."""
    page.open()
    states = page.run(
        """const field = document.getElementById("epsilon"), results = document.getElementById("results");
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
