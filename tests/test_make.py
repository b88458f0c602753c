"""The scripts behind `make portable` and `make check`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import covered
import processors


def test_every_processor_that_is_stood_for_can_import_numpy():
    """Names that numpy does not know, or may not turn off, would be a warning or an error."""
    for name, settings in processors.environments(every=True).items():
        code = "import numpy; numpy.linalg.inv(numpy.eye(3))"
        found = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], env={**os.environ, **settings}, check=False
        )
        assert found.returncode == 0, name


def test_units_are_taken_away():
    """Where this machine has some: what is left knows none of them."""
    for settings in processors.environments().values():
        taken = set(settings.get("NPY_DISABLE_CPU_FEATURES", "").split())
        assert taken <= processors.units()
    if taken := [
        settings
        for settings in processors.environments().values()
        if "NPY_DISABLE_CPU_FEATURES" in settings
    ]:
        command = [sys.executable, "-c", "import processors; print(*processors.usable())"]
        for settings in taken:
            environment = {**os.environ, **settings}
            found = subprocess.run(
                command,
                env=environment,
                cwd=processors.TESTS,
                capture_output=True,
                text=True,
                check=True,
            )
            assert not set(found.stdout.split()) & set(settings["NPY_DISABLE_CPU_FEATURES"].split())


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with one module of two branches in each package, and a way to run through some of
    them."""
    pytest.importorskip("coverage")
    for package in covered.PACKAGES:
        folder = tmp_path / "leastnoise" / package
        folder.mkdir(parents=True)
        (folder / "it.py").write_text(
            "import sys\nif len(sys.argv) > 1:\n    x = 1\nelse:\n    x = 2\n", encoding="utf-8"
        )
    (tmp_path / "run.py").write_text(
        "import runpy\n"
        + "".join(
            f"runpy.run_path('leastnoise/{package}/it.py')\n" for package in covered.PACKAGES
        ),
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}

    def run(*arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            "coverage",
            "run",
            "--append",
            "--branch",
            "--source=leastnoise",
            "run.py",
            *arguments,
        ]
        subprocess.run(command, env=environment, check=True, capture_output=True)

    return run


def test_what_is_not_run_through_is_told_and_fails(project, capsys, monkeypatch):
    monkeypatch.setenv("COVERAGE_FILE", str(Path.cwd() / ".coverage"))
    project()
    assert covered.main() == 1
    assert "it.py                3" in capsys.readouterr().out
    project("once more")
    assert covered.main() == 0
    assert "releases       100.0%     100.0%" in capsys.readouterr().out
