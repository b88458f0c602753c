"""`python -m benchmarks house` counts what it says; few lines are wide; what the workflows name is
there. (`test_architecture` holds the rules on imports, names, classes and complexity.)"""

import re
from pathlib import Path

from benchmarks import house

ROOT = Path(__file__).resolve().parents[1]
MOST_BEYOND_88 = 0.12


def test_few_lines_are_wide():
    widths = [len(line) for file in house.source_files(ROOT) for line in file.lines]
    assert sum(width > 88 for width in widths) <= MOST_BEYOND_88 * len(widths)


def test_the_measures_see_what_they_should(tmp_path):
    source = tmp_path / "src" / "pkg"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("")
    (source / "one.py").write_text(
        "class FlatNoise:\n    pass\nclass Odd(FlatNoise):\n    pass\n"
        "def f(x):\n    from pkg import two\n    return isinstance(x, (int, Odd))\n"
    )
    (source / "two.py").write_text(
        "from pkg.one import FlatNoise\nclass _Odd:\n    pass\nclass StepLoss:\n    pass\n"
        "def g(x):\n    match x:\n        case StepLoss():\n            return 1\n"
    )
    found = house.source_files(tmp_path)
    assert house.law_names(found) == {"FlatNoise", "Odd"}
    assert house.type_tests(found, house.law_names(found)) == 1
    assert house.type_tests(found, house.loss_names(found)) == 1
    assert house.in_cycles(found) == {"pkg.one", "pkg.two"}
    assert house.shared_names(found) == {"Odd"}


def test_what_stands_twice_is_counted_once_a_pair(tmp_path):
    body = """
def {name}({given}):
    \"\"\"{name}\"\"\"
    {given} = abs({given})
    total = {number}
    for each in {given}:  # a comment
        total += each.value
    if total > {number}:
        raise ValueError(
            f"{{total}}"
        )
    return total
"""
    source = tmp_path / "src"
    source.mkdir()
    (source / "one.py").write_text(body.format(name="first", given="x", number=1))
    (source / "two.py").write_text(body.format(name="second", given="items", number=2.5))
    found = house.source_files(tmp_path)
    assert house.duplicated(found) == [("one:2 first", "two:2 second")]
    (source / "two.py").write_text(
        body.format(name="second", given="y", number=2).replace("each.value", "each.size")
    )
    assert house.duplicated(house.source_files(tmp_path)) == []


def test_nothing_stands_twice():
    assert house.duplicated(house.source_files(ROOT)) == []


def test_the_workflow_and_the_makefile_name_what_is_there():
    for name in (".github/workflows/ci.yml", "Makefile", ".pre-commit-config.yaml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for path in re.findall(r"(?<![\w./])(?:tests|benchmarks|requirements)/[\w./-]*\w", text):
            assert (ROOT / path).exists(), f"{name} names {path}"


def test_what_moved_is_where_the_changelog_says():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    moved = text.split("### Moved", 1)[1].split("\n### ", 1)[0]
    source = ROOT / "src" / "leastnoise"
    rows = re.findall(r"^\| `.*\| (.*) \|$", moved, re.MULTILINE)
    assert len(rows) > 20
    for name in re.findall(r"`([\w.]+)`", "\n".join(rows)):
        path = source.joinpath(*name.split("."))
        folder = name.split(".")[0]
        # A module, a folder, or something in a module.
        known = path.is_dir() or any(one.with_suffix(".py").exists() for one in (path, path.parent))
        assert known or not (source / folder).exists(), f"{name} has moved on"


def test_the_listing_of_contributing_is_the_listing():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listing = text.split("src/leastnoise/\n", 1)[1].split("\n\n", 1)[0]
    named = set(re.findall(r"^ {6}([\w.]+)/? ", listing, re.MULTILINE))
    source = ROOT / "src" / "leastnoise"
    there = {path.name for path in source.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert named == there - {"__init__.py", "__main__.py", "__pycache__"}
