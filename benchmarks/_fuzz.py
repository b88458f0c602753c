"""Fuzzing of everything that reads what others wrote: files are made from whole ones by hypothesis
and read under limits.

A file is refused by an error of the package, or accepted; anything else is a crash: another
exception, more than `_SECONDS` of processor time, more than `_BYTES` of memory above the start.
Files are broken at the place where it hurts: a part of the content is replaced, removed or repeated
and every hash computed again, so that the reader looks at it; then a few of their bytes are broken
too. `python -m benchmarks._fuzz READER INPUTS SEED` tries so many files in a process of its own and
prints what became of them as JSON.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from leastnoise import Ledger, discrete_gaussian, discrete_laplace, exact, gaussian, laplace
from leastnoise.artefact import artefact_text, certify, read_artefact, verify
from leastnoise.cli.answers import read_answers
from leastnoise.errors import LeastNoiseError
from leastnoise.files import sealed
from leastnoise.files.canonical import text_digest
from leastnoise.laws.base import Noise
from leastnoise.laws.sphere import BallNoise
from leastnoise.ledger import event_log
from leastnoise.ledger.ledger import Spend
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.releases.noise.sensitivity import blocks
from leastnoise.releases.plan.file import load_plan
from leastnoise.sampling.entropy import OperatingSystemEntropy
from leastnoise.series.inode import identity
from leastnoise.series.kept_draw import slot_place
from leastnoise.series.opening import new_series, open_series
from leastnoise.series.slots import SLOT, USED, Cipher

_SECONDS = 20.0  # of processor time for one input
_BYTES = 1 << 30  # of address space above the start
_CHUNK = 100  # inputs of one run of hypothesis: their seeds are counted up
_ENDINGS = 10  # of crashes that are kept

# What breaks readers: numbers at every edge, texts that are no texts, nests, types that do not
# belong.
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, "", " ", [], {}, [[]], [None], {"": None}, {"kind": "lattice"}),
    *(0, 1, -1, 2, 3, 64, 128, 10**6, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 10**30, 10**400),
    *(0.0, -0.0, 0.5, 1e-9, 1e-300, 5e-324, 1e300, -1e300, 1.7976931348623157e308, 1e-6, 0.1),
    *(
        "0x0p+0",
        "0x1p+0",
        "-0x1p+0",
        "0x1p+1023",
        "0x1p-1074",
        "0x1p+99999",
        "nan",
        "inf",
        "-inf",
        "0x1.8p+3",
    ),
    *("0", "1", "ff", "FF", "-1", "f" * 40, "1" + "0" * 32, "0" * 64, "a" * 64),
    *(
        "x" * 5000,
        "\x00",
        "\x1b[2K",
        "\u202e",
        "\ud800",
        "é",
        "'; DROP TABLE t; --",
        "../../etc/passwd",
        "env:HOME",
    ),
    *(
        "real",
        "integer",
        "sphere",
        "adaptive",
        "fixed in advance",
        "add/remove",
        "replace",
        "count",
        "mean",
        "drop",
    ),
    *("postgresql://u:p@h/d", "duckdb://x", "spark://", "*.parquet", "[" * 2000),
)
scalars = st.one_of(
    st.sampled_from(HOSTILE),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.floats(0.0, 2.0),
    st.text(max_size=20),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
)


@st.composite
def edited(draw: Callable[[Any], Any], whole: tuple[Any, ...]) -> Any:
    """One of some contents with up to four of its parts replaced, removed, repeated or put
    elsewhere."""
    content = copy.deepcopy(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(0, 4))):
        places = list(_places(content))
        if not places:
            break
        inside, key = places[draw(st.integers(0, len(places) - 1))]
        how = draw(
            st.sampled_from(("replace", "replace", "replace", "remove", "repeat", "move", "nudge"))
        )
        if how == "replace":
            inside[key] = copy.deepcopy(draw(values))  # the hostile ones are there for all
        elif how == "remove":
            del inside[key]
        elif how == "repeat" and isinstance(inside, list):
            inside[key:key] = [inside[key]] * draw(st.integers(1, 50))
        elif (
            how == "nudge"
            and isinstance(inside[key], (int, float))
            and not isinstance(inside[key], bool)
        ):
            inside[key] = inside[key] * draw(st.sampled_from((-1, 0, 2, 1000, 1.0000001))) + draw(
                st.sampled_from((-1, 0, 1))
            )
        else:
            other, place = places[draw(st.integers(0, len(places) - 1))]
            inside[key] = copy.deepcopy(other[place])
    return content


def _places(content: Any) -> Any:
    """(container, key) of every part, breadth first; of a long list the first and the last."""
    left = [content]
    while left:
        one = left.pop(0)
        if isinstance(one, dict):
            keys: list[Any] = list(one)
        elif isinstance(one, list):
            keys = (
                list(range(len(one)))
                if len(one) < 9
                else [*range(4), *range(len(one) - 4, len(one))]
            )
        else:
            continue
        for key in keys:
            yield one, key
            left.append(one[key])


@st.composite
def broken(draw: Callable[[Any], Any], content: bytes) -> bytes:
    """Most often the bytes as they are; else some are flipped, cut out, repeated, or the end is
    missing."""
    how = draw(st.sampled_from(("whole", "whole", "whole", "flip", "cut", "end", "insert")))
    if how == "whole" or not content:
        return content
    at = draw(st.integers(0, len(content) - 1))
    if how == "flip":
        return content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]
    if how == "cut":
        return content[:at] + content[at + draw(st.integers(1, 40)) :]
    if how == "end":
        return content[:at]
    return content[:at] + draw(st.binary(min_size=1, max_size=12)) + content[at:]


# Readers: how a file is made of a content, and how it is read


def _json(content: Any) -> bytes:
    """JSON as Python writes it, with what is no JSON (NaN, half of a pair) left in."""
    return json.dumps(content, ensure_ascii=True).encode("ascii")


def _hashed(part: str) -> Callable[[Any], bytes]:
    """A file whose `part` carries its SHA-256, whatever became of it."""

    def text(file: Any) -> bytes:
        if isinstance(file, dict) and part in file and "sha256" in file:
            canonical = json.dumps(
                file[part], sort_keys=True, separators=(",", ":"), ensure_ascii=True
            )
            file["sha256"] = hashlib.sha256(canonical.encode("ascii")).hexdigest()
        return _json(file)

    return text


def _toml(content: Any) -> bytes:
    lines = (
        [f"{json.dumps(str(key))} = {_toml_value(value)}" for key, value in content.items()]
        if isinstance(content, dict)
        else []
    )
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{json.dumps(str(key))} = {_toml_value(item)}" for key, item in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, bool):
        return str(value).lower()
    return {None: '""'}.get(value, repr(value))


@cache
def _template() -> bytes:
    """A ledger with all kinds of events and laws."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        with Ledger(path) as ledger:
            ledger.open_dataset("patients", epsilon=2.0, delta=1e-6)
            ledger.open_dataset("staff", epsilon=2.0, delta=1e-6, rule="fixed in advance")
            entry = ledger.spend(
                "patients",
                [Spend(gaussian(40.0), 1.0, 3)],
                plan_hash="plan",
                note="n",
                relation="add/remove",
            )
            ledger.release_done(entry.id, "result")
            ledger.spend(
                "staff",
                [Spend(exact(discrete_gaussian(20.0), delta=1e-9))],
                plan_hash="plan",
                stamp="s",
            )
            series = ledger.spend("patients", [Spend(laplace(50.0))], plan_hash="plan")
            for used in range(2):
                digests = {"left": str(used) * 64, "unused": str(used + 1) * 64}
                with ledger.counting_series(series.id, first=used, used=used + 1, **digests):
                    pass
        return path.read_bytes()


@cache
def _ledger_rows() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        path.write_bytes(_template())
        connection = sqlite3.connect(path)
        events = [
            {"kind": kind, "content": json.loads(text)}
            for kind, text in connection.execute("SELECT kind, content FROM events")
        ]
        laws = [json.loads(law) for (law,) in connection.execute("SELECT law FROM laws")]
        connection.close()
    return {"events": events, "laws": laws}


def _ledger(content: Any) -> bytes:
    """A file with these events and laws, every hash right, the triggers in their place."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        path.write_bytes(_template())
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA synchronous = OFF")
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM events")
        number, last = 0, event_log.START
        named = {}
        for law in (
            content.get("laws", ())
            if isinstance(content, dict) and isinstance(content.get("laws"), list)
            else ()
        ):
            text = json.dumps(law, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
            named[str(len(named))] = text_digest(text)
            connection.execute(
                "INSERT OR IGNORE INTO laws VALUES (?, ?)", (text_digest(text), text)
            )
        events = content.get("events", ()) if isinstance(content, dict) else ()
        for event in events if isinstance(events, list) else ():
            if not isinstance(event, dict):
                continue
            text = json.dumps(
                event.get("content"), sort_keys=True, separators=(",", ":"), ensure_ascii=True
            )
            kind = str(event.get("kind")).encode("utf-8", "replace").decode()
            number += 1
            digest = event_log.event_hash(number, kind, text, last)
            connection.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?)", (number, kind, text, last, digest)
            )
            last = digest
        connection.execute("UPDATE head SET id = ?, hash = ?", (number, last))
        for _, made in triggers:
            connection.execute(made)
        connection.commit()
        connection.close()
        return path.read_bytes()


def _read_ledger(path: Path) -> None:
    with Ledger(path, read_only=True) as ledger:
        ledger.check()
        ledger.show()
        ledger.export("json")
        ledger.export("csv")


def _read_plan(path: Path) -> None:
    plan = load_plan(path)
    blocks(plan)
    json.dumps([plan.hash, plan.describe()])


def _read_law(path: Path) -> None:
    law = Noise.load(path)
    repr((law.std, law.dimension))


def _read_artefact(path: Path) -> None:
    verify(path)
    read_artefact(path)


def _read_release(path: Path) -> None:
    """Nothing reads a release back; whoever is given one by mistake must say so."""
    sealed.file_format(path)
    for read in (Noise.load, read_artefact, load_plan):
        try:
            read(path)
        except LeastNoiseError:
            continue
        return
    raise LeastNoiseError("refused by all")


def _read_table(path: Path) -> None:
    read_answers(
        path.read_bytes(), has_header=True, chosen=("a",), delimiter=",", whole_numbers=False
    )


@cache
def _series() -> tuple[Any, ...]:
    """Headers and slots of series, with a ledger and without, encrypted or not."""
    found = []
    law, unit = discrete_laplace(3.0), {"relation": "", "person": "", "person_is": ""}
    drawn = SampledLaw(exact(law, delta=1e-6), 3, "fuzz")
    told = {"kdf": "scrypt", "n": 1 << 17, "r": 8, "p": 1, "salt": "0" * 32, "check": "0" * 32}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series"
        series = new_series(path, 3, drawn, 1.0, 1e-6, unit=unit, source=OperatingSystemEntropy())
        header = dict(series._kept.header)
        series.close()
    for more in (
        {},
        {"charged": True, "dataset": "clinic"},
        {"encryption": {**told, "cipher": "ChaCha20-Poly1305"}},
    ):
        # the inode is that of the file it will be written to
        whole = {**header, **more, "inode": "here", "noted": False}
        found.append({"header": whole, "numbers": [7, -7, None]})
    return tuple(found)


def _series_file(content: Any) -> bytes:
    """A file with this header, its digest right, and these numbers; None is a used one."""
    is_whole = isinstance(content, dict) and isinstance(content.get("numbers"), list)
    header = content.get("header") if isinstance(content, dict) else content
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    slots = [
        USED if number is None else Cipher().slot(int(number), slot_place(digest, place))
        for place, number in enumerate(content["numbers"] if is_whole else ())
    ]
    first = f"leastnoise.series 1 {digest} {len(text):012d}\n"
    return (first + text).encode("ascii") + b"".join(slots)


def _read_series(path: Path) -> None:
    """On its own inode, which is not known when the file is made: both are put in here."""
    content = path.read_bytes()
    path.unlink()
    path.touch(0o600)
    with path.open("rb") as file:
        here = json.dumps(identity(file.fileno()), separators=(",", ":"))
    path.write_bytes(_here(content, here.encode("ascii")))
    series = open_series(path)
    repr((series, series.unit, series.noise.std, series._repr_html_()))
    before = series.remaining
    if series.dataset is None and series._kept.header["encryption"] is None:
        series.answer(0, sensitivity=1)
        if series.remaining >= before:
            raise AssertionError("an answer that was not counted")
    series.close()


def _here(content: bytes, here: bytes) -> bytes:
    """The file with its inode, and with the digests that belong to that."""
    head, _, rest = content.partition(b"\n")
    named = re.fullmatch(rb"leastnoise\.series 1 ([0-9a-f]{64}) ([0-9]{12})", head)
    if named is None:
        return content
    old, length = named[1].decode("ascii"), int(named[2])
    text, slots = rest[:length].replace(b'"here"', here), rest[length:]
    new = hashlib.sha256(text).hexdigest()
    moved = []
    for place in range(len(slots) // SLOT):
        slot = slots[SLOT * place : SLOT * (place + 1)]
        value = Cipher().value(slot, slot_place(old, place))
        moved.append(slot if value is None else Cipher().slot(value, slot_place(new, place)))
    first = f"leastnoise.series 1 {new} {len(text):012d}\n".encode("ascii")
    return first + text + b"".join(moved) + slots[SLOT * (len(slots) // SLOT) :]


@cache
def _artefacts() -> tuple[Any, ...]:
    laws = (exact(discrete_gaussian(3.0), delta=1e-6), BallNoise(10.0, 3, 1.0))
    return tuple(
        json.loads(
            artefact_text(certify(law, delta=1e-6, problem={"batch": 3}, rivals={"Laplace": 2.0}))
        )
        for law in laws
    )


@cache
def _laws() -> tuple[Any, ...]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for law in (
            exact(discrete_gaussian(3.0), delta=1e-6),
            gaussian(2.0),
            laplace(2.0),
            BallNoise(10.0, 3, 1.0),
        ):
            law.save(Path(folder) / "law")
            found.append(json.loads((Path(folder) / "law").read_text(encoding="utf-8")))
    return tuple(found)


PLAN = {
    **{
        "name": "fuzz",
        "dataset": "clinic",
        "epsilon": 1.0,
        "delta": 1e-6,
        "relation": "replace",
        "person": "id",
    },
    **{
        "rows_per_person": 4,
        "groups_per_person": 2,
        "rows_per_group": 3,
        "max_rows": 1000000,
        "salt": "s",
    },
    **{
        "postprocess": ["non-negative"],
        "source": {"csv": "t.csv", "delimiter": ";", "columns": ["id", "x", "g"]},
    },
    "about": {"title": "Visits", "curator": "The clinic"},
    "statistic": [
        {
            "kind": "mean",
            "column": "x",
            "lower": 0,
            "upper": 100,
            "pitch": 0.5,
            "missing": "drop",
            "weight": 2.0,
        },
        {"kind": "count", "group_by": {"g": ["A", "B"]}},
        {"kind": "histogram", "group_by": {"x": {"edges": [0, 18, 65]}}, "sigma": 9.0},
        {
            "kind": "variance",
            "column": "x",
            "lower": -1,
            "upper": 1,
            "pitch": 0.25,
            "missing": 0,
            "public_n": 9,
        },
    ],
}
SOURCES = (
    {"parquet": "*.parquet"},
    {"duckdb": "t.db", "table": "t"},
    {"connection": "postgresql://u@h:5432/d/s?sslmode=require", "table": "t"},
)
RELEASE = {
    **{
        "format": "leastnoise.release",
        "version": 1,
        "software": "leastnoise 0.1",
        "plan_hash": "0" * 64,
        "result_hash": "0" * 64,
    },
    **{
        "guarantee": {"epsilon": 1.0, "delta": 1e-6},
        "law": {"kind": "gaussian", "sigma": "0x1p+0"},
        "entropy": "operating system",
    },
    "statistics": [
        {
            "statistic": "count",
            "kind": "count",
            "group": "",
            "value": 1.0,
            "noise_std": 1.0,
            "half_width_95": 2.0,
        }
    ],
}
TABLE = {"lines": [["a", "b"], ["12", "x"], ["-0.5", "é"], ["1e6", '"q"'], ["+.5e-3", ""]]}


def _lines(content: Any) -> bytes:
    lines = content.get("lines", ()) if isinstance(content, dict) else ()
    rows = (
        [
            [str(cell) for cell in line] if isinstance(line, (list, str)) else [str(line)]
            for line in lines
        ]
        if isinstance(lines, list)
        else []
    )
    return "\n".join(",".join(row) for row in rows).encode("utf-8", "replace")


@dataclass(frozen=True)
class Reader:
    """A kind of file: whole contents, how a content is written, how a file is read."""

    whole: Callable[[], tuple[Any, ...]]
    write: Callable[[Any], bytes]
    read: Callable[[Path], None]


READERS: Mapping[str, Reader] = {
    "artefact": Reader(_artefacts, _hashed("content"), _read_artefact),
    "law": Reader(_laws, _hashed("law"), _read_law),
    "plan": Reader(
        lambda: (PLAN, *({**PLAN, "source": source} for source in SOURCES)), _toml, _read_plan
    ),
    "ledger": Reader(lambda: (_ledger_rows(),), _ledger, _read_ledger),
    "release": Reader(lambda: (RELEASE,), _json, _read_release),
    "answers": Reader(lambda: (TABLE,), _lines, _read_table),
    "series": Reader(_series, _series_file, _read_series),
}


@dataclass
class Tally:
    """What became of the inputs of one reader."""

    reader: str
    tried: int = 0
    refused: int = 0
    accepted: int = 0
    worst_seconds: float = 0.0  # of processor time for one input
    worst_megabytes: float = 0.0  # of memory above the start, over all inputs
    crashes: int = 0
    endings: list[str] = field(default_factory=list)


class TooLongError(Exception):
    """An input that took more processor time than one may."""


def campaign(name: str, inputs: int | None, first_seed: int, seconds: float | None = None) -> Tally:
    """Try `inputs` files, or as many as there is time for."""
    reader, tally = READERS[name], Tally(name)
    _limit()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for whole in reader.whole():  # what is whole is read once before memory is measured
            path.write_bytes(reader.write(copy.deepcopy(whole)))
            _outcome(reader, path)
        start, until = _peak(), time.monotonic() + (seconds or 0.0)
        number = first_seed
        while (tally.tried < inputs) if inputs is not None else (time.monotonic() < until):
            left = _CHUNK if inputs is None else min(_CHUNK, inputs - tally.tried)
            _chunk(reader, path, tally, left, number)
            number += 1
        tally.worst_megabytes = (_peak() - start) / 1024.0
    return tally


def _chunk(reader: Reader, path: Path, tally: Tally, inputs: int, number: int) -> None:
    strategy = edited(reader.whole()).map(_written(reader)).flatmap(broken)

    @seed(number)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def one(content: bytes) -> None:
        path.write_bytes(content)
        began = time.process_time()
        try:
            tally.accepted += _outcome(reader, path)
        except Exception as error:
            tally.crashes += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            if len(tally.endings) < _ENDINGS:
                tally.endings.append(
                    f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}, seed "
                    f"{number}: {error}"[:300]
                )
        tally.tried += 1
        tally.worst_seconds = max(tally.worst_seconds, time.process_time() - began)

    one()
    tally.refused = tally.tried - tally.accepted - tally.crashes


def _written(reader: Reader) -> Callable[[Any], bytes]:
    def written(content: Any) -> bytes:
        try:
            return reader.write(content)
        except (ValueError, TypeError, RecursionError, OverflowError, sqlite3.Error):
            return b""  # what cannot be written at all

    return written


def _outcome(reader: Reader, path: Path) -> bool:
    """Whether a file is accepted, under the limit of time."""
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        reader.read(path)
        return True
    except LeastNoiseError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _limit() -> None:
    def too_long(number: int, frame: object) -> None:
        raise TooLongError(f"more than {_SECONDS:g} s of processor time")

    signal.signal(signal.SIGPROF, too_long)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + _BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _peak() -> int:
    """The most memory of this process so far, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(arguments: list[str]) -> None:
    name, amount, first_seed = arguments
    timed = amount.endswith("s")
    found = campaign(
        name, None if timed else int(amount), int(first_seed), float(amount[:-1]) if timed else None
    )
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main(sys.argv[1:])
