"""What the package takes from others: no version with a known fault, and vendored files as they
were recorded."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VENDOR = Path(__file__).parent / "explorer" / "vendor"
# The first version without each known fault. Later ones may be required, earlier ones not.
FAULTLESS = {
    "starlette": [
        ("0.40.0", "CVE-2024-47874: form fields of any size are kept in memory"),
        ("0.47.2", "CVE-2025-54121: large files in forms block the event loop"),
        ("0.49.1", "CVE-2025-62727: ranges of a file take quadratic time"),
        ("1.0.1", "CVE-2026-48710: a malformed Host moves the path of request.url"),
        (
            "1.1.0",
            "CVE-2026-48817 and CVE-2026-48818: any method is dispatched; absolute paths in "
            "StaticFiles",
        ),
        ("1.3.0", "PYSEC-2026-248: a malformed path moves the host of request.url"),
        ("1.3.1", "PYSEC-2026-249: limits are ignored for urlencoded forms"),
        ("1.5.1", "any number of ranges of a file is answered"),
    ],
    "uvicorn": [("0.42.0", "a body in small pieces takes quadratic time")],
    "h11": [("0.16.0", "CVE-2025-43859: chunks with wrong ends hide requests")],
    "duckdb": [
        ("1.1.0", "CVE-2024-41672: files are read though access is off"),
        ("1.4.2", "CVE-2025-64429: weak encryption"),
    ],
    "pyarrow": [
        ("14.0.1", "CVE-2023-47248: a Parquet file runs code"),
        ("23.0.1", "CVE-2026-25087: memory is used after it was freed"),
    ],
    "pyspark": [("4.0.1", "CVE-2025-54920: logs of the history server run code")],
    "distributed": [("2026.1", "CVE-2026-23528: the dashboard runs code")],
    "tqdm": [("4.66.3", "CVE-2024-34062: command line arguments run code")],
    "cryptography": [("46.0.7", "CVE-2026-39892: buffers that have gaps overflow")],
    "scikit-learn": [("1.5", "CVE-2024-5206: words of the training text are kept")],
}


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


@pytest.mark.parametrize("name", FAULTLESS)
def test_the_lower_bound_is_a_version_without_known_faults(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        one for extra in project["project"]["optional-dependencies"].values() for one in extra
    ]
    bounds = [found[1] for one in wanted if (found := re.match(rf"{name}>=([0-9.]+)", one))]
    assert bounds
    for version, fault in FAULTLESS[name]:
        assert all(_version(bound) >= _version(version) for bound in bounds), fault


def test_vendored_files_are_those_that_were_recorded():
    """As `sha256sum --check SHA256SUMS` does; a file without a record fails too."""
    recorded = {}
    for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        recorded[name] = digest
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert found == recorded


def test_nothing_is_vendored_into_the_page_itself():
    """The page's own files carry no licence or version of others, and no map to sources
    elsewhere."""
    for path in (ROOT / "src" / "leastnoise" / "explorer" / "static").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"@license|@preserve|/\*!|sourceMappingURL|copyright", text, re.IGNORECASE
        ), path.name


def _tested() -> dict[str, str]:
    """The versions of requirements/tested.txt."""
    text = (ROOT / "requirements" / "tested.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name.lower(): version for name, version in (line.split("==") for line in lines)}


def test_tested_versions_are_versions_alone():
    """No address, no path, no option: what is tested comes from whatever index the reader uses."""
    for name, version in _tested().items():
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name)
        assert re.fullmatch(r"[0-9][0-9a-z.!+]*", version), name


def test_everything_asked_for_was_tested_in_a_version_that_is_asked_for():
    packaging = pytest.importorskip("packaging.requirements")
    utils = pytest.importorskip("packaging.utils")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    tested = _tested()
    for one in map(packaging.Requirement, (*project["dependencies"], *extras)):
        name = utils.canonicalize_name(one.name)
        if name != "leastnoise":
            assert name in tested, f"requirements/tested.txt has no line for {name}"
            assert one.specifier.contains(tested[name], prereleases=True), name


def test_there_is_one_version():
    """pyproject.toml has it; the package asks its own metadata, and the citation repeats it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", citation, re.MULTILINE) == [project["version"]]
    for path in [*(ROOT / "src").rglob("*.py"), ROOT / "docs" / "conf.py"]:
        text = path.read_text(encoding="utf-8")
        assert "__version__" not in text, path
        assert f'"{project["version"]}"' not in text, path
