"""A real server, and a real browser where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.explorer import Server, start_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    for name in ("starlette", "uvicorn"):
        pytest.importorskip(name, reason="the explorer's server is not installed (leastnoise[web])")
    found = start_server("--port", "0", "--workers", "2")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed (leastnoise[web-test])"
    )
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip(
            "chromium and chromedriver are not installed (Debian: chromium chromium-driver)"
        )
    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--window-size=1600,1000",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    driver.downloads = Path(downloads)
    yield driver
    driver.quit()
