"""Every piece of code in the documentation runs, and prints what the page says; the pages build
without a warning.

The blocks of a page run in order, in one namespace and one empty folder:

- ```python is executed; a ```text block right after it is what it prints.
- ```console holds lines `$ leastnoise …` with what they print; `$ echo $?` shows the exit code of
  the line before.
- {code-block} with a caption is a file, written under that name.
- `% shape` on the line before a ```text or ```console block: numbers, times and hashes differ from
  run to run, all else does not.

A number with a decimal point may be one unit of its last digit away from what the page shows:
5.3805 is printed as 5.380 by one processor and as 5.381 by another.
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

import leastnoise
from leastnoise.sampling.entropy import InsecureSeededEntropy, OperatingSystemEntropy

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(
    path
    for path in DOCS.glob("*.md")
    if "```python" in path.read_text() or "```console" in path.read_text()
)
NEEDS = {
    "opendp": "opendp",
    "dp_accounting": "dp-accounting",
    "ibis": "tables",
    "click": "cli",
    "cryptography": "encrypted",
    "matplotlib": "plots",
}

FENCE = re.compile(
    r"^(?P<mark>% shape\n)?(?P<fence>```+)(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block: `word` is its language, or its directive in braces; `caption` the name of
    the file it is."""

    word: str
    body: str
    caption: str | None
    only_shape: bool
    line: int


def blocks(text):
    found = []
    for match in FENCE.finditer(text):
        word, body = match["info"].strip(), match["body"]
        caption = (
            re.match(r":caption: (\S+)\n\n", body) if word.startswith("{code-block}") else None
        )
        if caption:
            word, body = word.removeprefix("{code-block} "), body[caption.end() :]
        line = text.count("\n", 0, match.start("fence")) + 1
        found.append(Block(word, body, caption[1] if caption else None, bool(match["mark"]), line))
    return found


def shape(text):
    """The text with everything that differs from run to run made equal."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+", "TIME", text)
    text = re.sub(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,64}\b", "HASH", text)
    text = re.sub(r"(?<![\w.])[-−+]?(\d[\d,]*(\.\d+)?(e[-+]?\d+)?|inf\b)", "0", text)
    text = re.sub(r"[-─]{2,}", "---", text)  # rules as wide as their column
    return re.sub(r"[ \t]+", " ", text).strip()


DECIMAL = re.compile(r"\d[\d,]*\.\d+")


def unit_of_last_digit(number):
    return 10.0 ** -len(number.partition(".")[2])


def same_to_the_last_digit(printed, expected):
    """Whether the texts are equal, but for decimal numbers one unit of their last digit apart."""
    if DECIMAL.sub("0.0", printed) != DECIMAL.sub("0.0", expected):
        return False
    for one, other in zip(DECIMAL.findall(printed), DECIMAL.findall(expected), strict=True):
        unit = unit_of_last_digit(other)
        if unit_of_last_digit(one) != unit:
            return False
        if abs(float(one.replace(",", "")) - float(other.replace(",", ""))) > 1.001 * unit:
            return False
    return True


def agree(block, printed, expected, where):
    printed, expected = (
        "\n".join(line.rstrip() for line in text.strip().splitlines())
        for text in (printed, expected)
    )
    if block.only_shape:
        printed, expected = shape(printed), shape(expected)
    if not same_to_the_last_digit(printed, expected):
        assert printed == expected, f"{where}: the page shows something else than what is printed"


def run_python(body, namespace, where):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(body, where, "exec"), namespace)
    return output.getvalue()


def run_console(block, where):
    """The transcript that the commands of a block give."""
    from click.testing import CliRunner

    from leastnoise.cli import main

    lines, code = [], 0
    for line in block.body.splitlines():
        if not line.startswith("$ "):
            continue
        lines.append(line)
        if line == "$ echo $?":
            lines.append(str(code))
            continue
        program, *arguments = shlex.split(line[2:])
        assert program == "leastnoise", (
            f"{where}: only leastnoise is run in console blocks, not {program}"
        )
        assert arguments[0] != "serve", (
            f"{where}: a server does not end; show its line in a sh block"
        )
        result = CliRunner().invoke(main, arguments, prog_name="leastnoise", env={"COLUMNS": "100"})
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        code = result.exit_code
        shown = "$ echo $?" in block.body
        assert shown or code == 0, f"{where}: {line} ends with {code}: {result.output}"
        lines += result.output.rstrip("\n").splitlines()
    return "\n".join(lines)


def test_pages_are_found():
    assert {"index.md", "steward.md", "engineer.md"} <= {page.name for page in PAGES}


def test_shape_forgets_numbers_and_nothing_else():
    one = (
        "id  time                 plan          cost\n--  2026-01-31T09:00:00  5ff54b1ac7c6  "
        "1,234.50 ± 8.2\n"
    )
    other = "id time plan cost\n-- 2025-12-01T23:59:59 a00e4b1ac7c6 -7 ± 10\n"
    assert shape(one) == shape(other) == "id time plan cost\n--- TIME HASH 0 ± 0"
    assert shape("refused: 1.5") != shape("allowed: 1.5")


def test_numbers_agree_to_the_last_digit_and_words_to_the_letter():
    assert same_to_the_last_digit("epsilon = 5.381, 1,234.5", "epsilon = 5.380, 1,234.4")
    assert not same_to_the_last_digit("epsilon = 5.382", "epsilon = 5.380")
    assert not same_to_the_last_digit("epsilon = 5.38", "epsilon = 5.380")
    assert not same_to_the_last_digit("10 rows", "11 rows")
    assert not same_to_the_last_digit("sigma = 5.380", "epsilon = 5.380")


def test_every_key_of_a_plan_is_described():
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    for field in (*fields(Plan), *fields(Statistic)):
        if field.name not in ("source", "statistics", "about"):  # tables of their own in the file
            assert f"`{field.name}`" in text, f"formats.md does not describe {field.name}"


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    for name in leastnoise.__all__:
        assert re.search(rf":: leastnoise\.{name}$", text, re.MULTILINE), (
            f"api.md does not list {name}"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    for module, extra in NEEDS.items():
        if (
            module in text or (module == "ibis" and "release(" in text)
        ) and importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'leastnoise[{extra}]'")
    monkeypatch.chdir(tmp_path)
    # By chance a check of a release would say now and then what is not so, and the page would be
    # longer.
    monkeypatch.setattr(OperatingSystemEntropy, "take", InsecureSeededEntropy(2).take)
    namespace, printed, before = {"__name__": "__main__"}, "", None
    for block in blocks(text):
        where = f"{page.name}, line {block.line}"
        if block.caption is not None:
            Path(block.caption).write_text(block.body, encoding="utf-8")
        elif block.word == "python":
            printed = run_python(block.body, namespace, where)
        elif block.word == "console":
            agree(block, run_console(block, where), block.body, where)
        elif block.word == "text" and before == "python":
            agree(block, printed, block.body, where)
        before = block.word


def test_no_code_escapes_the_tests():
    """Code is written as python, console, or a captioned file; shell lines install, or start the
    server, and nothing more."""
    known = (
        "python",
        "console",
        "text",
        "sh",
        "toml",
        "{eval-rst}",
        "{commands}",
        "{toctree}",
        "{include} ../CHANGELOG.md",
    )
    for page in DOCS.glob("*.md"):
        for block in blocks(page.read_text(encoding="utf-8")):
            where = f"{page.name}, line {block.line}"
            assert block.word in known or block.word.startswith("{literalinclude} measured/"), (
                f"{where}: {block.word}"
            )
            if block.word == "sh":
                assert all(
                    line.startswith(("pip install ", "make ", "leastnoise serve"))
                    for line in block.body.splitlines()
                ), where
            if block.word == "toml":
                assert block.caption, f"{where}: a plan that nothing reads"


@pytest.mark.skipif(
    any(
        importlib.util.find_spec(module) is None
        for module in ("sphinx", "myst_parser", "furo", "latex2mathml")
    ),
    reason="Sphinx is not installed: pip install 'leastnoise[docs]'",
)
def test_pages_build_without_a_warning(tmp_path):
    """Links, labels and references between pages resolve, or the build warns and fails."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path / "html"),
    ]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    built = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees")],
        capture_output=True,
        env=environment,
        encoding="utf-8",
    )
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "html" / "mathematics.html").read_text(encoding="utf-8")
    assert "<math" in page
    assert "http" not in "".join(re.findall(r"<(?:script|link)[^>]*>", page)), (
        "the pages must show without a network"
    )
    assert "leastnoise verify" in (tmp_path / "html" / "commands.html").read_text(encoding="utf-8")
