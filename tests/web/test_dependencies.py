"""What the explorer takes from others: vendored files as they were recorded, and no version with a known fault."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VENDOR = Path(__file__).parent / "vendor"
# The first version without each known fault. Later ones may be required, earlier ones not.
FAULTLESS = {
    "starlette": [
        ("0.40.0", "CVE-2024-47874: form fields of any size are kept in memory"),
        ("0.47.2", "CVE-2025-54121: large files in forms block the event loop"),
        ("0.49.1", "CVE-2025-62727: ranges of a file take quadratic time"),
        ("1.0.1", "CVE-2026-48710: a malformed Host moves the path of request.url"),
        ("1.1.0", "CVE-2026-48817 and CVE-2026-48818: any method is dispatched; absolute paths in StaticFiles"),
        ("1.3.0", "PYSEC-2026-248: a malformed path moves the host of request.url"),
        ("1.3.1", "PYSEC-2026-249: limits are ignored for urlencoded forms"),
        ("1.5.1", "any number of ranges of a file is answered"),
    ],
    "uvicorn": [("0.42.0", "a body in small pieces takes quadratic time")],
    "h11": [("0.16.0", "CVE-2025-43859: chunks with wrong ends hide requests")],
}


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


@pytest.mark.parametrize("name", FAULTLESS)
def test_the_lower_bound_is_a_version_without_known_faults(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    bounds = dict(re.findall(r"([a-z0-9-]+)>=([0-9.]+)", " ".join(project["project"]["optional-dependencies"]["web"])))
    for version, fault in FAULTLESS[name]:
        assert _version(bounds[name]) >= _version(version), fault


def test_vendored_files_are_those_that_were_recorded():
    """As `sha256sum --check SHA256SUMS` does; a file without a record fails too."""
    recorded = {}
    for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        recorded[name] = digest
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir() if path.name != "SHA256SUMS"}
    assert found == recorded


def test_nothing_is_vendored_into_the_page_itself():
    """The page's own files carry no licence or version of others, and no map to sources elsewhere."""
    for path in (ROOT / "src" / "leastnoise" / "web" / "static").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@license|@preserve|/\*!|sourceMappingURL|copyright", text, re.IGNORECASE), path.name
