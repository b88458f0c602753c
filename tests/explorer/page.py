"""The page in a browser tab, and what every view of it must pass."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from explorer.explorer import PATIENCE

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
CHARTS = ("law", "curve", "numbers", "rivals")
OVERLAPS = """const overlaps = [];
for (const card of document.querySelectorAll(".card:has(.chart)")) {
  const frame = card.getBoundingClientRect();
  const texts = [...card.querySelectorAll(".chart > svg text")].filter((text) =>
    text.getClientRects().length && text.textContent).map((text) => [text.textContent,
    text.getBoundingClientRect()]);
  texts.forEach(([one, a], index) => {
    if (a.left < frame.left || a.right > frame.right) overlaps.push([card.id, one, "outside"]);
    for (const [other, b] of texts.slice(index + 1)) {
      if (a.left + 1 < b.right && b.left + 1 < a.right && a.top + 3 < b.bottom &&
        b.top + 3 < a.bottom) overlaps.push([one, other]);
    }
  });
}
return overlaps"""


class Page:
    """The explorer in a browser tab."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver, self.url = driver, url

    def open(
        self, address: str = "", *, width: int = 1600, dark: bool = False, settled: bool = True
    ) -> Page:
        self.driver.get("about:blank")  # a change after the # alone would not load the page anew
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=1000,
            deviceScaleFactor=1,
            mobile=False,
        )
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
            f"{what}: not within {PATIENCE} seconds; the page says {self.text('notice')!r}, "
            f"{self.text('status')!r}"
        )

    def shown(self) -> dict[str, Any]:
        """What could state a guarantee."""
        names = (
            "figure-width",
            "tile-epsilon",
            "sentences",
            "proof",
            "code-python",
            "mini-epsilon",
            *CHARTS,
        )
        return {name: self.text(name) for name in names} | {
            "file": self.id("artefact").get_attribute("href")
        }

    def settle(self) -> None:
        """Until everything asked for is there: the page is busy from the change on, also while it
        waits for further moves."""
        self.wait(
            lambda: (
                self.run("return document.getElementById('results').getAttribute('aria-busy')")
                == "false"
            ),
            "an answer",
        )

    def type(self, name: str, text: str) -> None:
        field = self.id(name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)

    def choose(self, name: str, value: str) -> None:
        self.run(
            "document.querySelector(`input[name=${arguments[0]}][value=${arguments[1]}]`).click()",
            name,
            value,
        )

    def address(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.driver.current_url).fragment))

    def complaints(self) -> list[str]:
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]

    def downloaded(self, name: str) -> Path:
        path = self.driver.downloads / name
        self.wait(lambda: path.exists() and path.stat().st_size > 0, f"the file {name}")
        return Path(path)


def violations(page: Page) -> list[str]:
    page.run(AXE)
    found = page.driver.execute_async_script(
        """axe.run(document, {resultTypes: ["violations"]})
        .then((found) => arguments[0](found.violations), (error) => arguments[0]([{id: String(
          error), nodes: []}]))"""
    )
    return [f"{one['id']}: {[node['html'][:150] for node in one['nodes']][:4]}" for one in found]
