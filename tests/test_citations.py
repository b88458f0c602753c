"""What comments and pages cite is there: every `docs/….md`, and the heading after its #."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "benchmarks", "examples", "docs")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "RELEASING.md")
CITATION = re.compile(r"(?<![\w/.])docs/([\w./-]+\.(?:md|txt|py))(?:#([\w-]*\w))?")
# Documents that readers of the package do not have.
ELSEWHERE = re.compile(r"\b(?:DESIGN|STYLE|ISSUE)(?:\.md|\s*§|\s+section\b)")


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page):
    """Every heading of a page, outside of code, and every label put before one."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.M)}
    return headings | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


def sources():
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")]
    return [*found, *(ROOT / name for name in PAGES if (ROOT / name).exists())]


def citations():
    """Every citation as (file that cites, page, anchor)."""
    for path in sources():
        for match in CITATION.finditer(path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT).as_posix(), match[1], match[2]


def test_slugs_are_those_of_the_pages():
    assert slug("The worst shift") == "the-worst-shift"
    assert slug("The exact gradient of ε (and of δ)") == "the-exact-gradient-of-ε-and-of-δ"
    assert slug("`exact`: [weights](x.md)") == "exact-weights"


def test_proofs_are_cited():
    assert len({anchor for _, page, anchor in citations() if page == "mathematics.md"}) > 1


def test_every_citation_resolves():
    lost = []
    for path, page, anchor in citations():
        target = ROOT / "docs" / page
        if not target.is_file():
            lost.append(f"{path}: docs/{page} does not exist")
        elif anchor is not None and anchor not in anchors(target):
            lost.append(f"{path}: docs/{page} has no heading #{anchor}")
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_cites_a_document_that_is_not_here(folder):
    told = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in (ROOT / folder).rglob("*.py")
        if path != Path(__file__)
        for match in ELSEWHERE.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not told, "\n".join(told)


def test_every_source_file_that_a_page_names_is_there():
    named = re.compile(r"`((?:[\w-]+/)+[\w-]+\.py)`")
    lost = [
        f"{page.name}: {name}"
        for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in PAGES)]
        if page.exists()
        for name in named.findall(page.read_text(encoding="utf-8"))
        if not ((ROOT / name).exists() or (ROOT / "src" / "leastnoise" / name).exists())
    ]
    assert not lost, "\n".join(lost)


def is_module(path):
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_every_module_that_a_page_names_is_there():
    """`leastnoise.a.b` is a module, or something in the module `leastnoise.a`."""
    named = re.compile(r"\bleastnoise((?:\.[a-z_]+){2,})\b")
    source = ROOT / "src" / "leastnoise"
    lost = []
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in PAGES)]:
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        # What moved is named as it was called.
        text = re.sub(r"^### Moved\n.*?^### ", "", text, flags=re.MULTILINE | re.DOTALL)
        for dotted in named.findall(text):
            path = source.joinpath(*dotted.strip(".").split("."))
            if not (is_module(path) or is_module(path.parent)):
                lost.append(f"{page.name}: leastnoise{dotted}")
    assert not lost, "\n".join(lost)
