"""The demo of the Makefile: it runs, says what it should, and writes what it says."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
pytest.importorskip("ibis")

ROOT = Path(__file__).resolve().parents[1]


def demo():
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples" / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "out" / "demo"


def test_the_demo(folder, capsys):
    module = demo()
    for _ in range(2):  # the second run starts afresh: a spent ledger does not stop it
        module.main(folder)
        printed = capsys.readouterr().out
    rows = re.findall(r"^  (.{26}) *([\d.]+) +(-?[\d.]+) ± ([\d.]+)$", printed, flags=re.MULTILINE)
    assert [name.strip() for name, *_ in rows] == [*module.DIABETES, *module.BREAST_CANCER]
    for name, true, noisy, half in rows:
        # The law ends at 2.8 half-widths, so that no draw can fail this; the rest is room for
        # clipping.
        assert abs(float(noisy) - float(true)) < 4 * float(half), name
    assert printed.count("A real release never shows it") == 2
    assert (
        len(
            re.findall(
                r"Gaussian noise this accurate would have cost epsilon = 2\.\d+ instead of 1\.00",
                printed,
            )
        )
        == 2
    )
    assert len(re.findall(r"its error would have been [12]\.\d+ times as large", printed)) == 2
    assert "The release is refused: 'diabetes' has spent" in printed
    assert printed.count("of 1, 1 release") == 2
    named = re.findall(r"^  (/.*)$", printed, flags=re.MULTILINE)
    assert len(named) == 9
    for path in named:
        assert Path(path).stat().st_size > 500
    assert (folder / "numbers.png").read_bytes().startswith(b"\x89PNG")


def test_its_reports_and_files_hold_no_true_value(folder):
    page = (folder / "diabetes.html").read_text(encoding="utf-8")
    assert "Diabetes study: ten averages" in page
    assert "warning" not in page.split("</style>")[1]
    released = (folder / "diabetes-released.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1] for line in released[1:]] == ["mean"] * 10 + ["unreadable"] * 10 + [
        "clipped"
    ] * 10
    assert "48.518" not in page  # the true mean age


def test_its_ledger_is_whole(folder):
    from leastnoise import Ledger

    with Ledger(folder / "ledger.db", read_only=True) as ledger:
        assert ledger.check().ok
        assert [dataset.releases for dataset in ledger.datasets()] == [1, 1]


def test_its_plans_can_be_used_again(folder):
    from leastnoise import load_plan

    plan = load_plan(folder / "breast-cancer.toml")
    assert len(plan.statistics) == 10
    assert plan.epsilon == 1.0
