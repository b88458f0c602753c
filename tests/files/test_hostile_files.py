"""Files from somebody who means harm: nothing is worked at for long, nothing is followed, nothing
is a traceback."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import traceback
from pathlib import Path
from typing import Any

import pytest

from leastnoise import Ledger, discrete_gaussian, exact
from leastnoise.artefact import artefact_text, certify, read_artefact, verify
from leastnoise.errors import InvalidFileError, InvalidParameterError, LeastNoiseError, LedgerError
from leastnoise.files import reading, sealed, writing
from leastnoise.files.canonical import text_digest
from leastnoise.laws.base import Noise
from leastnoise.ledger import event_log
from leastnoise.releases.plan import file as plan_file
from leastnoise.releases.plan.file import load_plan
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import Connection
from leastnoise.releases.plan.statistic import Statistic

LAW = exact(discrete_gaussian(3.0), delta=1e-6)
CONTENT = json.loads(artefact_text(certify(LAW, delta=1e-6)))["content"]
POWERS = [f"{1 << (127 - k):x}" for k in range(99)] + [f"{1 << 29:x}"]
SPHERE = {"body": "sphere", "batch": 3, "step": 1.0, "pitch": "1/65536", "scale": 10.0}


def artefact(path: Path, **parts: Any) -> Path:
    """An artefact with other parts, whose SHA-256 is right."""
    content = {
        **CONTENT,
        **{
            name: {**CONTENT[name], **part} if name != "law" else part
            for name, part in parts.items()
        },
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    file = {"format": "leastnoise.artefact", "version": 1, "sha256": digest, "content": content}
    path.write_text(json.dumps(file), encoding="utf-8")
    return path


LATTICE = {**CONTENT["law"], "bits": 128, "first": 0, "weights": POWERS}
COSTLY = {
    # What each of these took before there were limits, in a file of less than 3,100 bytes.
    "25 s, 1.7 GB": {"law": {**LATTICE, "first": 2**24 - 101}},
    "6 s, 0.4 GB": {"law": {**LATTICE, "first": 2**22}},
    "minutes": {"law": {**SPHERE, "batch": 10**9}},
    "2 s": {"law": {**SPHERE, "batch": 10**7}},
    "9 s, 6.9 GB": {
        "law": LATTICE,
        "guarantee": {"compositions": 1000},
        "accountant": {"accuracy": 1e-15, "most_points": 2**30},
    },
    "9 s, 1.9 GB": {
        "law": SPHERE,
        "guarantee": {"compositions": 100},
        "accountant": {"accuracy": 1e-12, "most_points": 2**28},
    },
    "5 s, 1 GB": {
        "law": SPHERE,
        "guarantee": {"compositions": 100},
        "accountant": {"accuracy": 1e-12},
    },
}


@pytest.mark.parametrize("cost", COSTLY)
def test_a_small_artefact_cannot_ask_for_much_work(
    cost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = artefact(tmp_path / "noise.json", **COSTLY[cost])
    assert path.stat().st_size < 3100
    monkeypatch.setattr(
        "leastnoise.artefact.verification.judged", lambda *given: pytest.fail("the work was begun")
    )
    for read in (verify, read_artefact):
        with pytest.raises(InvalidFileError, match="does not describe a law"):
            read(path)


def test_what_is_refused_in_a_file_is_not_written_either() -> None:
    far = exact(discrete_gaussian(3.0), delta=1e-6)
    assert artefact_text(certify(far, delta=1e-6))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("leastnoise.sampling.weights._MOST_SHELLS", 10)
        with pytest.raises(InvalidParameterError, match="shells"):
            artefact_text(certify(far, delta=1e-6))


def test_a_law_file_cannot_ask_for_much_work(tmp_path: Path) -> None:
    law = {"kind": "ball", "dimension": 10**9, "scale": "0x1p+3", "step": "0x1p+0"}
    text = json.dumps(law, sort_keys=True, separators=(",", ":"))
    file = {
        "format": "leastnoise.noise",
        "version": 1,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "law": law,
    }
    (tmp_path / "law.json").write_text(json.dumps(file), encoding="utf-8")
    with pytest.raises(InvalidFileError, match="at most 1000000 in a file"):
        Noise.load(tmp_path / "law.json")


def test_a_file_without_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large"
    path.write_bytes(b" " * 4000)
    monkeypatch.setattr(reading.read_text, "__defaults__", (3000,))
    monkeypatch.setattr(plan_file, "_MOST_BYTES", 3000)
    for read in (Noise.load, read_artefact, verify, load_plan):
        with pytest.raises(InvalidFileError, match="File larger than"):
            read(path)
    assert sealed.file_format(path) == ""


def test_a_step_beyond_all_range_is_no_traceback(tmp_path: Path) -> None:
    """The variance overflowed where nobody listened."""
    path = artefact(
        tmp_path / "noise.json",
        law={**LATTICE, "domain": "real", "step": 1e300},
        guarantee={"sensitivity": 1e300},
    )
    found = verify(path)
    assert not found.ok
    assert "out of all range" in found.mismatches[0]


NUMBERS = [
    "1e400",
    "-1e400",
    "9" * 5000,
    "-" + "9" * 5000,
    "9" * 400,
    "0x" + "f" * 5000,
    "0x" + "f" * 16,
]
PLAN = """\
name = "clinic"
epsilon = 1.0
delta = 1e-6
relation = "add/remove"
one_row_per_person = true
{top}
[about]
title = {about}
[[statistic]]
kind = "mean"
column = "x"
lower = {lower}
upper = 10
pitch = 1
missing = "drop"
group_by = {{ g = [{key}] }}
"""


@pytest.mark.parametrize("place", ["top", "about", "lower", "key"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[:6]}, {len(number)}")
def test_a_number_beyond_all_range_in_a_plan_is_one_sentence(
    place: str, number: str, tmp_path: Path
) -> None:
    given = {"top": "", "about": '"a"', "lower": "0", "key": '"a"', place: number}
    given["top"] = f"max_rows = {given['top']}" if given["top"] else ""
    (tmp_path / "plan.toml").write_text(PLAN.format(**given), encoding="utf-8")
    with pytest.raises(LeastNoiseError):
        load_plan(tmp_path / "plan.toml")


RELEASE = {
    **{
        "dataset": "d",
        "time": "t",
        "plan_hash": "p",
        "note": "",
        "stamp": "",
        "relation": "",
        "renyi": [],
        "largest": "0x0p+0",
    },
    **{
        "failure": "0x0p+0",
        "epsilon_after": "0x0p+0",
        "epsilon_if_fixed": None,
        "simple_sum": "0x0p+0",
    },
    "draws": [{"law": "0" * 64, "sensitivity": "0x1p+0", "uses": 1}],
}


def with_event(path: Path, kind: str, content: str) -> None:
    """Append an event whose hash is right, whatever it says."""
    with sqlite3.connect(path) as connection:
        number, last = connection.execute("SELECT id, hash FROM head").fetchone()
        digest = event_log.event_hash(number + 1, kind, content, last)
        connection.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?)", (number + 1, kind, content, last, digest)
        )
        connection.execute("UPDATE head SET id = ?, hash = ?", (number + 1, digest))
    connection.close()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        *(
            ("done", json.dumps({"entry": 1, "result_hash": "r"}).replace("1", number))
            for number in NUMBERS[:5]
        ),
        ("release", json.dumps(RELEASE).replace('"uses": 1', '"uses": 1e400')),
        ("release", json.dumps(RELEASE).replace('"uses": 1', '"uses": ' + "9" * 5000)),
        ("release", json.dumps({**RELEASE, "simple_sum": "0x1p+99999"})),
        ("release", json.dumps({**RELEASE, "failure": "0x" + "f" * 5000})),
        ("release", "[" * 100_000),
        (
            "budget",
            json.dumps(
                {
                    "dataset": "e",
                    "time": "t",
                    "epsilon": "0x1p+99999",
                    "delta": "0x1p-9",
                    "rule": "adaptive",
                }
            ),
        ),
        ("budget", json.dumps({"dataset": ["e"]})),
    ],
    ids=lambda text: text[:30],
)
def test_a_number_beyond_all_range_in_a_ledger_is_one_sentence(
    kind: str, content: str, tmp_path: Path
) -> None:
    path = tmp_path / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("d", epsilon=1.0, delta=1e-6, rule="fixed in advance")
    with_event(path, kind, content)
    with pytest.raises(LedgerError), Ledger(path) as ledger:
        ledger.datasets()


@pytest.mark.parametrize(
    "law", ["[]", "1e400", "9" * 5000, '{"kind": 1e400}', "[" * 100_000], ids=lambda law: law[:12]
)
def test_a_law_of_a_ledger_that_is_none_is_one_sentence(law: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    Ledger(path).close()
    digest = text_digest(law)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO laws VALUES (?, ?)", (digest, law))
    connection.close()
    with Ledger(path) as ledger, pytest.raises(LedgerError, match="law"):
        ledger.law(digest)


def test_writing_never_touches_the_umask_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread that makes a file at that moment would make it for everybody."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
    writing.write_whole(tmp_path / "text", "text")
    monkeypatch.undo()
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "text").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert sorted(os.listdir(tmp_path)) == ["plain", "text"]


def test_a_link_is_replaced_and_never_followed(tmp_path: Path) -> None:
    """Whoever may write to the folder of the results must not choose which file of the steward is
    written over."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    import pyarrow as pa

    from leastnoise.plots import release_sheet
    from leastnoise.releases.release import release

    plan = Plan(
        "links", None, "add/remove", (Statistic("count"),), 1.0, 1e-6, one_row_per_person=True
    )
    done = release(plan, table=pa.table({"a": [1] * 30}))
    writers = {
        "csv": done.to_csv,
        "json": done.to_json,
        "html": done.to_html,
        "parquet": done.to_parquet,
    }
    if pytest.importorskip("matplotlib"):
        writers["png"] = release_sheet(done).save
    for suffix, write in writers.items():
        mine, link = tmp_path / f"mine.{suffix}", tmp_path / f"result.{suffix}"
        mine.write_text("mine")
        link.symlink_to(mine)
        write(link)
        assert mine.read_text() == "mine", suffix
        assert not link.is_symlink()
        assert link.stat().st_size > 4


SECRETS = ("hunter2", "me:hun")


def shown(error: BaseException) -> str:
    """All that a log could show of an error."""
    texts: list[str] = ["".join(traceback.format_exception(error))]
    seen: BaseException | None = error
    while seen is not None:
        texts.append(f"{seen!r} {seen}")
        seen = seen.__cause__ or seen.__context__
    return "\n".join(texts)


def test_a_password_is_in_no_repr() -> None:
    source = Connection("postgresql://me:hunter2@h/db", "t")
    plan = Plan(
        "p", source, "add/remove", (Statistic("count"),), 1.0, 1e-6, one_row_per_person=True
    )
    for text in (repr(source), repr(plan), str(plan), repr(plan.describe()), f"{plan.source}"):
        assert not any(secret in text for secret in SECRETS), text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@h/" + "d" * 5000,
        "postgresql://me:hunter2@h:port/db",
        "postgresql://me:hunter2@h:99999999/db",
        "postgresql://me:hunter2@[h/db",
        "postgresql://me:hunter2@h/db\x00",
        "postgresql://me:hunter2@h/db?hunter2=1",
        "postgresql://me:hunter2@h/db?port=hunter2",
        "mysql://me:hunter2@h/db",
        "me:hunter2@h/db",
        ["postgresql://me:hunter2@h/db"],
    ],
    ids=lambda url: str(url)[-12:],
)
def test_a_password_is_in_no_error(url: Any, tmp_path: Path) -> None:
    whole = {
        "name": "p",
        "epsilon": 1.0,
        "delta": 1e-6,
        "relation": "add/remove",
        "one_row_per_person": True,
    }
    content = {
        **whole,
        "source": {"connection": url, "table": "t"},
        "statistic": [{"kind": "count"}],
    }
    with pytest.raises(LeastNoiseError) as caught:
        plan_file.plan_from(content)
    told = re.sub(r"File .*\n.*\n", "", shown(caught.value))
    assert not any(secret in told for secret in SECRETS), told
