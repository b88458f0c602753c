"""Every example and every notebook runs against the real libraries; nothing foreign is needed
before it is used."""

import importlib.util
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from leastnoise.optional import required

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEEDS = {
    "opendp": "opendp",
    "dp_accounting": "dp-accounting",
    "nbclient": "interop",
    "ipykernel": "interop",
    "tqdm": "notebook",
}
NEEDS |= {"pandas": "tables-test", "ibis": "tables", "duckdb": "tables"}


def need(*modules):
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'leastnoise[{NEEDS[module]}]'")


def run(*arguments):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=True,
        env=environment,
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    ("name", "modules", "expected"),
    [
        ("opendp_measurements", ("opendp",), ("a histogram", "two queries of a Context")),
        (
            "dp_accounting_budget",
            ("dp_accounting",),
            ("our accountant", "allowed: False, the ledger checks: True"),
        ),
        ("scipy_analysis", (), ("Kolmogorov",)),
        ("other_processes", (), ("all there: True",)),
        ("rivals", (), ("cube, 10 answers at once",)),
        ("release_tables", ("pandas", "ibis", "duckdb"), ("times as large",)),
    ],
)
def test_example_runs(name, modules, expected, capsys, monkeypatch):
    need(*modules)
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    shown = capsys.readouterr().out
    for text in expected:
        assert text in shown


def test_no_example_is_left_out():
    tried = {
        mark.args[1][k][0]
        for mark in test_example_runs.pytestmark
        for k in range(len(mark.args[1]))
    }
    assert {file.stem for file in EXAMPLES.glob("*.py")} == tried | {
        "demo"
    }  # the demo has tests of its own


@pytest.mark.parametrize(
    ("name", "modules"), [("steward", ()), ("engineer", ("opendp", "dp_accounting"))]
)
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own making
def test_notebook_runs(name, modules, monkeypatch):
    need("nbclient", "ipykernel", "tqdm", *modules)
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.output_type == "error"]
    assert any("<svg" in output.get("data", {}).get("text/html", "") for output in shown)


@pytest.mark.parametrize("name", ["steward", "engineer"])
def test_notebooks_are_kept_without_outputs(name):
    content = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in content["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_nothing_foreign_is_imported_with_the_package():
    foreign = ("opendp", "dp_accounting", "attr", "tqdm", "rich", "IPython", "jsonschema")
    code = (
        "import sys, leastnoise, leastnoise.interop.opendp, leastnoise.interop.dp_accounting, "
        "leastnoise.interop.notebook\n"
        "leastnoise.gaussian(1.0)._repr_html_(); leastnoise.gaussian(1.0).as_scipy()\n"
        f"print([name for name in {foreign!r} if name in sys.modules])"
    )
    assert run("-c", code).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        (
            "opendp.prelude",
            "opendp",
            lambda: importlib.import_module("leastnoise.interop.opendp").enable(),
        ),
        (
            "dp_accounting.pld.privacy_loss_distribution",
            "dp-accounting",
            lambda: importlib.import_module("leastnoise.interop.dp_accounting").from_pld(None),
        ),
        (
            "tqdm.auto",
            "notebook",
            lambda: importlib.import_module("leastnoise.interop.notebook").stages(),
        ),
    ],
)
def test_missing_library_names_its_extra(module, extra, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"leastnoise\[{extra}\]"):
        call()


def test_error_inside_a_foreign_library_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text(
        "import a_module_that_is_nowhere\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="a_module_that_is_nowhere"):
        required("broken_library", "opendp")
