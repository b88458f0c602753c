"""Every command of the README runs in a plain copy of the repository, in any shell; so do the
notebooks with what they name."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from leastnoise import OneSided, correlated, design
from leastnoise.accountant.attacker import about, gaussian_mu_of, per_cent
from leastnoise.designer.calibrate import least_sigma

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
INSTALL = re.compile(r'pip install "\.\[([\w,-]+)\]"')


def commands(path):
    """The lines of the blocks without a language, or of shell, of a page."""
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^```([^\n`]*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [
        line for language, body in blocks if language in ("", "sh") for line in body.splitlines()
    ]


@pytest.fixture
def copy(tmp_path):
    """What somebody has who copied the repository and nothing beside it."""
    place = tmp_path / "somewhere" / "leastnoise"
    shutil.copytree(
        ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "README.md", place)
    return place


def run(line, folder):
    program, *arguments = shlex.split(line)
    assert program == "leastnoise"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "leastnoise", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )


def test_every_command_of_the_readme_runs(copy):
    pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    pytest.importorskip("click")
    lines = commands(copy / "README.md")
    assert {line.split()[0] for line in lines} == {"make", "pip", "leastnoise"}
    ran = []
    for line in lines:
        if not line.startswith("leastnoise "):
            continue
        done = run(line, copy)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        ran.append(done.stdout)
    assert len(ran) == 7
    assert (copy / "numbers.csv").read_text(encoding="utf-8").count("\nvisits,count,ward = ") == 3
    assert "Visits to the clinic" in (copy / "report.html").read_text(encoding="utf-8")
    assert any(text.startswith("whole: 1 release,") for text in ran)


def test_every_target_of_the_readme_is_there():
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    for line in commands(ROOT / "README.md"):
        if line.startswith("make "):
            assert line.split()[1] in targets


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_lines_work_in_every_shell_and_from_a_clone(path):
    """cmd.exe knows neither single quotes nor #; extras are those of this repository."""
    for line in commands(path):
        assert "'" not in line
        assert "#" not in line
        if line.startswith("pip "):
            asked = INSTALL.fullmatch(line)
            assert asked, line
            assert set(asked[1].split(",")) <= set(EXTRAS)
    named = re.findall(r"pip install [\"']?leastnoise", path.read_text(encoding="utf-8"))
    assert path.name == "changelog.md" or not named


@pytest.mark.parametrize("plan", sorted(ROOT.glob("examples/*.toml")), ids=lambda path: path.name)
def test_every_plan_loads_and_can_be_previewed_in_a_plain_copy(copy, plan):
    pytest.importorskip("click")
    declared = tomllib.loads(plan.read_text(encoding="utf-8"))
    dataset = declared.get("dataset", declared["name"])
    opened = run(f"leastnoise ledger open budget.ledger {dataset} --epsilon 2 --delta 1e-6", copy)
    assert opened.returncode == 0, opened.stderr
    done = run(f"leastnoise release examples/{plan.name} --ledger budget.ledger --preview", copy)
    assert done.returncode == 0, done.stderr
    assert "No row was read" in done.stdout


@pytest.mark.parametrize("plan", sorted(ROOT.glob("examples/*.toml")), ids=lambda path: path.name)
def test_every_plan_that_declares_a_table_is_released_in_a_plain_copy(copy, plan):
    pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    pytest.importorskip("click")
    declared = tomllib.loads(plan.read_text(encoding="utf-8"))
    assert "delta" not in declared  # its share of the ledger's, whatever that is
    dataset = declared.get("dataset", declared["name"])
    assert (
        run(
            f"leastnoise ledger open budget.ledger {dataset} --epsilon 2 --delta 1e-6 --releases 3",
            copy,
        ).returncode
        == 0
    )
    previewed = run(
        f"leastnoise release examples/{plan.name} --ledger budget.ledger --preview", copy
    )
    done = run(
        f"leastnoise release examples/{plan.name} --ledger budget.ledger --out numbers.csv", copy
    )
    if "source" in declared:
        assert "FAIL" not in previewed.stdout
        assert done.returncode == 0, done.stderr
        assert (copy / "numbers.csv").exists()
    else:
        assert "the release would FAIL, at no cost. The plan declares no source" in previewed.stdout
        assert done.returncode == 2
        assert "The plan declares no source" in done.stderr


def test_a_plan_whose_table_is_not_there_says_which_and_spends_nothing(copy):
    pytest.importorskip("ibis")
    pytest.importorskip("click")
    (copy / "examples" / "heart.csv").unlink()
    assert (
        run("leastnoise ledger open budget.ledger heart --epsilon 2 --delta 1e-6", copy).returncode
        == 0
    )
    previewed = run(
        "leastnoise release examples/release_heart.toml --ledger budget.ledger --preview", copy
    )
    assert previewed.returncode == 0
    assert "the release would FAIL, at no cost. There is no file" in previewed.stdout
    done = run("leastnoise release examples/release_heart.toml --ledger budget.ledger", copy)
    assert done.returncode == 2
    assert "There is no file" in done.stderr
    assert "heart.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert (
        json.loads(run("leastnoise ledger show budget.ledger --json", copy).stdout)["releases"]
        == []
    )


# Notebooks


def distributions(extras):
    """The names of all that is installed with these extras, and with what that needs."""
    requirements = pytest.importorskip("packaging.requirements")
    left, found = (
        [requirements.Requirement(line) for extra in extras for line in EXTRAS[extra]],
        set(),
    )
    left += [requirements.Requirement(line) for line in ("numpy", "scipy")]
    seen = set()
    while left:
        one = left.pop()
        key = (one.name.lower().replace("_", "-"), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        if key[0] == "leastnoise":
            left += [
                requirements.Requirement(line) for extra in one.extras for line in EXTRAS[extra]
            ]
            continue
        found.add(key[0])
        try:
            needs = metadata.requires(one.name) or []
        except metadata.PackageNotFoundError:
            pytest.skip(f"{one.name} is not installed")
        for line in needs:
            need = requirements.Requirement(line)
            applies = [{"extra": extra} for extra in ("", *one.extras)]
            if need.marker is None or any(need.marker.evaluate(setting) for setting in applies):
                left.append(need)
    return found


RUN = """
import json, sys
forbidden, path = set(json.loads(sys.argv[1])), sys.argv[2]

class Refusing:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in forbidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
names = {"__name__": "__main__"}
for cell in json.load(open(path, encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), path, "exec"), names)
"""


@pytest.mark.parametrize("name", ["steward", "engineer"])
def test_a_notebook_runs_with_the_extras_that_it_names_and_nothing_else(name, tmp_path):
    path = ROOT / "examples" / f"{name}.ipynb"
    content = json.loads(path.read_text(encoding="utf-8"))
    (named,) = INSTALL.findall("".join("".join(cell["source"]) for cell in content["cells"]))
    assert "notebook" in named.split(",")
    assert any(line.startswith("ipykernel") for line in EXTRAS["notebook"])
    allowed = {*distributions(named.split(",")), "leastnoise"}
    forbidden = [
        module
        for module, owners in metadata.packages_distributions().items()
        if not any(owner.lower().replace("_", "-").replace(".", "-") in allowed for owner in owners)
    ]
    assert {"duckdb", "matplotlib", "pytest"} & set(forbidden)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "ignore", "-c", RUN, json.dumps(forbidden), str(path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    "answers",
    [2, 10, 40, *(pytest.param(answers, marks=pytest.mark.long) for answers in (5, 20, 100))],
)
def test_the_first_table_is_what_design_says(answers):
    """Noise at ε = 1 and δ = 1e-6, and what an attacker can do with it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^\| {answers} \| (.* %) \|$", text, re.MULTILINE)
    stated = line.split(" | ")
    asked = {"delta": 1e-6, "epsilon": 1.0, "batch": answers}
    any_signs = design(**asked)
    counts = design(**asked, changes=OneSided(), domain="integer")
    fitted = least_sigma(
        lambda sigma: correlated(sigma, answers, core="gaussian"),
        *(1.0, (0.5, 100.0)),
        sensitivity=1.0,
        delta=1e-6,
        draws=1,
        changes=OneSided(),
    )
    mu = gaussian_mu_of(1.0, 1e-6)
    numbers = [math.sqrt(answers) / mu, fitted, any_signs.sigma, counts.sigma]
    assert [float(each) for each in stated[:4]] == pytest.approx(numbers, abs=0.0101)
    assert float(stated[4]) == pytest.approx((fitted / counts.sigma) ** 2, rel=5e-3)
    guesses = [about(any_signs.attacker.gaussian_guess)]
    guesses += [per_cent(one.attacker.guess) for one in (any_signs, counts)]
    assert stated[5:] == guesses
