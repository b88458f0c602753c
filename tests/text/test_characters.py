"""No text from somebody else forges what a terminal shows: one rule, for all that enters and all
that is quoted."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from leastnoise import Ledger, discrete_gaussian, errors, exact
from leastnoise.artefact import artefact_text, certify, read_artefact, verify
from leastnoise.cli import main
from leastnoise.errors import InvalidFileError, InvalidParameterError, LeastNoiseError
from leastnoise.files.canonical import canonical, text_digest
from leastnoise.ledger import event_log
from leastnoise.ledger.ledger import Spend
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.text.characters import fault, is_plain, shown

# A cursor that goes back and paints over; the same in one byte of the C1 set; text that runs the
# other way; letters that are not there; a line of one's own.
FORGED = {
    "escape": "x\x1b[2K\repsilon = 0.01",
    "c1": "x\x9b2Kepsilon = 0.01",
    "override": "x\u202e10.0 = nolispe",
    "isolate": "x\u2066y\u2069",
    "zero width": "pa\u200btients",
    "joiner": "pa\u2060tients",
    "grapheme joiner": "pa\u034ftients",
    "filler": "pa\u3164tients",
    "selector": "patients\ufe0f",
    "blank pattern": "x\u2800",
    "tag": "x\U000e0041",
    "soft hyphen": "pa\xadtients",
    "byte order mark": "\ufeffpatients",
    "line": "x\nepsilon = 0.01",
    "separator": "x\u2028epsilon = 0.01",
    "surrogate": "x\udc9b",
    "private use": "x\ue000",
    "unassigned": "x\u0378",
    "nul": "x\x00",
}
# What people write: composed and decomposed accents, scripts that run both ways, spaces of all
# widths, symbols.
PLAIN = [
    "clinic 2024",
    "é",
    "e\u0301",
    "数",
    "עברית",
    "नमस्ते",
    "a\u00a0b",
    "a\u3000b",
    "°C ≥ 5 €",
    "'=1+1",
    "🙂",
    "~|;--\\'",
]


def test_the_rule_for_every_character_of_unicode() -> None:
    """Ignorable are those that Unicode calls so; what has no category of its own is listed here by
    hand."""
    listed = {
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        *range(0x180B, 0x1810),
        0x2800,
        0x3164,
        *range(0xFE00, 0xFE10),
        0xFFA0,
    }
    listed |= set(range(0xE0000, 0xE1000))
    for number in range(sys.maxunicode + 1):
        letter = chr(number)
        category = unicodedata.category(letter)
        assert is_plain(letter) == (
            not (category[0] == "C" or category in ("Zl", "Zp") or number in listed)
        ), hex(number)
        assert all(is_plain(part) for part in shown(letter))


def test_plain_texts_pass_and_forged_ones_are_named() -> None:
    for text in PLAIN:
        assert fault(text) is None
        assert shown(text) == text
    for text in FORGED.values():
        wrong = fault(text)
        assert wrong is not None
        assert wrong.startswith("U+")
        assert shown(shown(text)) == shown(text)
        assert not fault(shown(text))


def plan_with(place: str, text: str) -> Plan:
    whole: dict[str, Any] = {
        "name": "clinic",
        "epsilon": 1.0,
        "delta": 1e-6,
        "relation": "add/remove",
        "person": "id",
    }
    whole |= {"rows_per_person": 1, "groups_per_person": 1, "about": {}}
    entry: dict[str, Any] = {
        "kind": "sum",
        "column": "x",
        "lower": 0,
        "upper": 1,
        "pitch": 1,
        "missing": "drop",
    }
    source: dict[str, Any] = {"duckdb": "t.db", "table": "t"}
    if place in ("name", "dataset", "person", "person_is", "salt", "relation"):
        whole[place] = text
    elif place == "postprocess":
        whole[place] = [text]
    elif place == "delimiter":
        source = {"csv": "t.csv", "delimiter": text}
    elif place == "match":
        entry["group_by"] = {"g": {"values": ["a"], "match": text}}
    elif place == "about":
        whole["about"] = {"title": text}
    elif place == "about key":
        whole["about"] = {text: "x"}
    elif place == "key":
        entry["group_by"] = {"g": [text]}
    elif place == "key column":
        entry["group_by"] = {text: ["a"]}
    elif place == "source column":
        source = {"csv": "t.csv", "columns": [text]}
    elif place == "environment":
        source = {"connection": f"env:{text}", "table": "t"}
    elif place == "statistic name":
        entry["name"] = text
    elif place in ("table", "duckdb"):
        source[place] = text
    else:
        entry[place] = text
    return plan_from({**whole, "source": source, "statistic": [entry]}, folder=Path("/data"))


PLACES = [
    "name",
    "dataset",
    "person",
    "salt",
    "relation",
    "about",
    "about key",
    "key",
    "key column",
]
PLACES += [
    "person_is",
    "delimiter",
    "match",
    "postprocess",
    "statistic name",
    "column",
    "source column",
    "environment",
    "table",
    "duckdb",
    "kind",
    "missing",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", FORGED)
def test_no_forged_text_enters_by_a_plan(place: str, how: str) -> None:
    if place == "about" and how == "line":
        return  # a description may have lines: it goes to pages and records, not to a terminal
    with pytest.raises(LeastNoiseError) as caught:
        plan_with(place, FORGED[how])
    assert not fault(str(caught.value))


def test_what_people_write_enters() -> None:
    for text in PLAIN:
        for place in ("name", "dataset", "person", "salt", "about", "key", "key column", "table"):
            assert plan_with(place, text)
    assert Key("g", ("", " a", "a ", "e\u0301", "é")).labels == ("", " a", "a ", "e\u0301", "é")


def test_every_error_of_the_package_shows_what_it_quotes() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, LeastNoiseError)
    ]
    assert len(kinds) > 8
    for text in FORGED.values():
        for kind in kinds:
            if kind is InvalidParameterError:
                error: LeastNoiseError = kind("name", text, f"to be other than {text}")
            elif kind is errors.BudgetExceededError:
                error = kind(text, 1.0, 0.5, 2.0, text)
            else:
                error = kind(f"There is no {text}.")
            assert not fault(str(error)), kind


@pytest.mark.parametrize("how", FORGED)
def test_the_names_of_a_table_are_quoted_with_escapes(how: str) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    from leastnoise.releases.data.opening import open_table

    if how in ("surrogate", "nul"):
        return  # an Arrow table holds neither
    plan = Plan(
        "p",
        None,
        "add/remove",
        (Statistic("count", group_by={"g": ["a"]}),),
        1.0,
        1e-6,
        one_row_per_person=True,
    )
    with pytest.raises(LeastNoiseError) as caught:
        open_table(plan, pa.table({FORGED[how]: [1], "h": [2]}))
    assert "no column 'g'" in str(caught.value)
    assert not fault(str(caught.value))


def forged_artefact(path: Path, part: str, text: str) -> None:
    content = json.loads(
        artefact_text(certify(exact(discrete_gaussian(3.0), delta=1e-6), delta=1e-6))
    )["content"]
    if part == "pitch":
        content["law"]["pitch"] = text
    elif part == "field":
        content["law"][text] = 1
    elif part == "rivals":
        content["rivals"] = {text: 1.0}
    else:
        content[part] = {**content[part], "name": text}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    file = {"format": "leastnoise.artefact", "version": 1, "sha256": digest, "content": content}
    path.write_text(json.dumps(file), encoding="utf-8")


@pytest.mark.parametrize("part", ["pitch", "field", "rivals", "problem", "accountant"])
@pytest.mark.parametrize("how", FORGED)
def test_no_forged_text_enters_by_an_artefact(part: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    forged_artefact(path, part, FORGED[how])
    for read in (read_artefact, verify):
        with pytest.raises(InvalidFileError, match="unseen character U") as caught:
            read(path)
        assert not fault(str(caught.value))


NAMES = [how for how in FORGED if how not in ("nul",)]


@pytest.mark.parametrize("how", NAMES)
def test_the_name_of_a_file_is_printed_with_escapes(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = FORGED[how] + ".json"
    Path(name).write_text(
        artefact_text(certify(exact(discrete_gaussian(3.0), delta=1e-6), delta=1e-6)),
        encoding="utf-8",
    )
    for words in (
        ["account", name, "--delta", "1e-6"],
        ["verify", FORGED[how]],
        ["release", name, "--preview"],
        ["sample", "no" + name],
    ):
        done = CliRunner().invoke(main, words, prog_name="leastnoise")
        lines = done.output.splitlines()
        assert len(lines) <= 3
        assert not any(fault(line) for line in lines), done.output


LEDGER_PLACES = [
    "note",
    "stamp",
    "plan_hash",
    "dataset",
    "time",
    "result_hash",
    "rule",
    "relation",
    "draws",
    "law",
]


@pytest.mark.parametrize("place", LEDGER_PLACES)
@pytest.mark.parametrize("how", [how for how in FORGED if how != "surrogate"])
def test_no_forged_text_of_a_ledger_reaches_a_terminal(
    place: str, how: str, tmp_path: Path
) -> None:
    """Written into the file by somebody else, with every hash recomputed."""
    path = tmp_path / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("d", epsilon=1.0, delta=1e-6)
        entry = ledger.spend("d", [Spend(discrete_gaussian(30.0))], plan_hash="p")
        ledger.release_done(entry.id, "r")
    forge(path, place, FORGED[how])
    with Ledger(path, read_only=True) as ledger:
        assert not any(fault(problem) for problem in ledger.check().problems)
    for words in (
        ["show"],
        ["check"],
        ["export", "--format", "csv"],
        ["export", "--format", "json"],
    ):
        done = CliRunner().invoke(
            main, ["ledger", words[0], str(path), *words[1:]], prog_name="leastnoise"
        )
        assert not any(fault(line) for line in done.output.split("\n")), (words, done.output)
        assert "epsilon = 0.01" not in [line.strip() for line in done.output.splitlines()]


def forge(path: Path, place: str, text: str) -> None:
    """Put `text` into the events and make the chain whole again."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT id, kind, content FROM events ORDER BY id").fetchall()
    definitions = [
        row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    ]
    for name in ("events_stay", "events_remain"):
        connection.execute(f"DROP TRIGGER {name}")
    last = event_log.START
    for number, kind, content in rows:
        data = json.loads(content)
        if place == "draws" and kind == "release":
            data["draws"][0]["law"] = text
        elif place == "law" and kind == "release":
            data["draws"][0]["law"] = with_law(connection, {"kind": text, text: [text]})
        elif place in data and kind != "ledger":
            data[place] = text
        written = canonical(data)
        digest = event_log.event_hash(number, kind, written, last)
        connection.execute(
            "UPDATE events SET content = ?, previous = ?, hash = ? WHERE id = ?",
            (written, last, digest, number),
        )
        last = digest
    connection.execute("UPDATE head SET hash = ?", (last,))
    for definition in definitions:
        if "ON events" in definition:
            connection.execute(definition)
    connection.commit()
    connection.close()


def with_law(connection: sqlite3.Connection, law: Any) -> str:
    content = canonical(law)
    connection.execute("INSERT INTO laws VALUES (?, ?)", (text_digest(content), content))
    return text_digest(content)


@pytest.mark.parametrize("how", FORGED)
def test_no_forged_text_enters_a_ledger(how: str, tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("d", epsilon=1.0, delta=1e-6)
        with pytest.raises(InvalidParameterError):
            ledger.open_dataset(FORGED[how], epsilon=1.0, delta=1e-6)
        spends = [Spend(discrete_gaussian(30.0))]
        for place in ("plan_hash", "note", "stamp", "relation"):
            with pytest.raises(InvalidParameterError):
                ledger.spend("d", spends, **{"plan_hash": "p", place: FORGED[how]})
        assert not ledger.entries()


LAW = artefact_text(certify(exact(discrete_gaussian(3.0), delta=1e-6), delta=1e-6))
USE = ["--epsilon", "1", "--delta", "1e-6"]
ASKED = ["--delta", "1e-6", "--sigma", "8"]


def commands(text: str) -> list[list[str]]:
    """A forged text wherever a command takes one."""
    return [
        [text],
        ["design", "--" + text],
        ["design", "--delta", text],
        ["design", *ASKED, "--out", f"{text}/x"],
        ["design", *ASKED, "--domain", text],
        ["design", *ASKED, "--plot", text],
        ["compare", "--delta", text],
        ["sample", "law.json", "--count", text],
        ["verify", "law.json", text],
        ["release", text, "--no-ledger"],
        ["release", "plan.toml", "--ledger", text],
        ["release", "plan.toml", "--no-ledger", "--scratch", text],
        ["release", "plan.toml", "--no-ledger", "--out", text],
        ["ledger", text],
        ["ledger", "open", "budget.ledger", text, *USE],
        ["ledger", "open", "budget.ledger", "d", *USE, "--rule", text],
        ["ledger", "show", text],
        ["ledger", "check", text],
        ["ledger", "check", "budget.ledger", "--head", text],
        ["ledger", "export", text],
        ["ledger", "spend", "budget.ledger", text, "law.json", "--plan", "p"],
        ["ledger", "spend", "budget.ledger", "d", "law.json", "--plan", text],
        ["ledger", "spend", "budget.ledger", "d", "law.json", "--plan", "p", "--note", text],
        ["perturb", text, "answers.csv"],
        ["perturb", "law.json", text],
        ["perturb", "law.json", "answers.csv", "--header", "--column", "no" + text],
        ["perturb", "law.json", "answers.csv", "--delimiter", text],
        ["perturb", "law.json", "answers.csv", "--out", f"{text}/x"],
        ["completion", text],
        ["reproduce", text],
        ["reproduce", "fig1", "--processes", text],
        ["serve", "--host", text],
        ["serve", "--port", text],
    ]


@pytest.mark.parametrize("how", NAMES)
def test_what_is_typed_is_quoted_with_escapes(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person pastes what somebody sent: every command refuses it without drawing it."""
    monkeypatch.chdir(tmp_path)
    Path("law.json").write_text(LAW, encoding="utf-8")
    named = "column" if how == "surrogate" else FORGED[how].replace("\n", " ").replace("\r", " ")
    Path("answers.csv").write_text(f"{named},b\n1,2\n", encoding="utf-8")
    with Ledger("budget.ledger") as ledger:
        ledger.open_dataset("d", epsilon=1.0, delta=1e-6)
    for words in commands(FORGED[how]):
        done = CliRunner().invoke(main, words, prog_name="leastnoise")
        assert done.exit_code in (1, 2), (words, done.output)
        assert isinstance(done.exception, SystemExit), words
        lines = done.output.removesuffix("\n").split("\n")
        assert len(lines) == (2 if "--head" in words else 1), (words, done.output)
        assert not any(fault(line) for line in lines), (words, done.output)


@pytest.mark.parametrize(
    "how", [how for how in FORGED if how not in ("surrogate", "nul", "escape", "line")]
)
def test_the_header_of_a_csv_file_is_quoted_with_escapes(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("ibis")
    monkeypatch.chdir(tmp_path)
    name = "the long name of a column of the table so that another is like it"
    Path("visits.csv").write_text(f"{name}{FORGED[how]},b\n1,2\n", encoding="utf-8")
    Path("plan.toml").write_text(
        'name = "p"\nepsilon = 1.0\ndelta = 1e-6\nrelation = "add/remove"\none_row_per_person = '
        "true\n"
        f'[source]\ncsv = "visits.csv"\n[[statistic]]\nkind = "count"\ngroup_by = {{ "{name}" = '
        f'["x"] }}\n',
        encoding="utf-8",
    )
    done = CliRunner().invoke(main, ["release", "plan.toml", "--no-ledger"], prog_name="leastnoise")
    assert done.exit_code == 2
    assert f"like it: '{name}" in done.output
    assert not fault(done.output.removesuffix("\n"))


def on_a_terminal(words: list[str]) -> str:
    """What a command writes to a terminal."""
    import os
    import pty
    import subprocess

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "leastnoise", *words], stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux: the other side is closed
                part = b""
            if not part:
                break
            seen += part
    os.close(ours)
    assert process.returncode == 0
    return seen.decode("utf-8").replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_cells_that_pass_through_cannot_repaint_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a pipe or a file they go as they are."""
    monkeypatch.chdir(tmp_path)
    forged = "pa\u200btients \x1b[2K\u202e"
    Path("law.json").write_text(LAW, encoding="utf-8")
    Path("answers.csv").write_text(f"{forged};b\ttab\n1;2\n", encoding="utf-8")
    words = [
        "perturb",
        "law.json",
        "answers.csv",
        "--header",
        "--delimiter",
        ";",
        "--column",
        forged,
    ]
    painted = on_a_terminal(words).split("\n")
    assert painted[0] == "pa\\u200btients \\x1b[2K\\u202e;b\ttab"
    assert not any(fault(line, lines=True) for line in painted)
    piped = CliRunner().invoke(main, words, prog_name="leastnoise").stdout
    assert piped.startswith(f"{forged};b\ttab\n")
