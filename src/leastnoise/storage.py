"""Laws as JSON files. Numbers are written as hexadecimal floats, so a law comes back bit for bit; a SHA-256 guards the content.

{"format": "leastnoise.noise", "version": 1, "sha256": "…", "law": {"kind": "lattice", …}}
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import secrets
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.ball import BallNoise
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.errors import (
    InvalidFileError,
    InvalidParameterError,
    LeastNoiseError,
    UnsupportedError,
    positive_integer,
)
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise

FORMAT = "leastnoise.noise"
VERSION = 1
_MOST_DIGITS = 400  # of a whole number in a file; floating-point numbers end at 308
_MOST_BYTES = 1 << 27  # of a file that is read at once: a law of four million shells
MOST_ANSWERS = 10**6  # of one draw, in a file: to judge the sphere law for 10^9 takes minutes


def save(noise: Noise, path: str | PathLike[str]) -> None:
    """Write `noise` to `path`, whole or not at all."""
    law = law_as_json(noise)
    content = {"format": FORMAT, "version": VERSION, "sha256": _digest(law), "law": law}
    write_whole(path, json.dumps(content, indent=1) + "\n")


def load(path: str | PathLike[str]) -> Noise:
    """The law in the file at `path`, or an InvalidFileError that says what is wrong with the file."""
    where = repr(os.fspath(path))
    try:
        content = json.loads(read_text(path), parse_int=json_integer, parse_float=json_float)
    except OSError as error:
        raise InvalidFileError(f"Cannot read {where}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(
            f"{where} is not complete JSON (truncated or damaged?): {error}."
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidFileError(f"{where} is not a saved noise law: its format is not {FORMAT!r}.")
    if content.get("version") != VERSION or isinstance(content["version"], bool):
        raise InvalidFileError(
            f"{where} has version {content.get('version')!r}; this release reads version {VERSION}."
        )
    law = content.get("law")
    if not isinstance(law, dict) or content.get("sha256") != _digest(law):
        raise InvalidFileError(f"{where} is damaged: its content does not match its SHA-256.")
    try:
        return law_from_json(law)
    except (KeyError, TypeError, ValueError, ArithmeticError, LeastNoiseError) as error:
        raise InvalidFileError(f"{where} does not describe a law: {error}") from None


def file_format(path: str | PathLike[str]) -> str:
    """The format a JSON file says it has; "" if it says none or is no JSON (reading it then explains why)."""
    try:
        content = json.loads(read_text(path), parse_int=str, parse_float=str)
    except (OSError, ValueError, RecursionError):
        return ""
    return str(content.get("format", "")) if isinstance(content, dict) else ""


def read_text(path: str | PathLike[str], most: int = _MOST_BYTES) -> str:
    """The text of a file in UTF-8; of one that is far too large for what it should be, an OSError."""
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"File larger than {most >> 20} MB", os.fspath(path))
    return content.decode("utf-8")


def json_integer(text: str) -> int:
    """A whole number of a JSON file; one that no field can hold, and Python would not read, is
    refused."""
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a whole number has {len(text)} digits")
    return int(text)


def json_float(text: str) -> float:
    """A number of a JSON file; one beyond the range of floating-point numbers is refused."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is beyond the range of floating-point numbers")
    return value


def law_as_json(noise: Noise) -> dict[str, Any]:
    """The law as plain JSON data."""
    if isinstance(noise, LatticeNoise):
        return {
            "kind": "lattice",
            "domain": noise.domain,
            "dimension": noise.dimension,
            "step": noise.step.hex(),
            "tail_ratio": None if noise.tail_ratio is None else noise.tail_ratio.hex(),
            "shell_masses": [float(mass).hex() for mass in noise.shell_masses],
        }
    if isinstance(noise, GaussianNoise):
        return {"kind": "gaussian", "sigma": noise.sigma.hex()}
    if isinstance(noise, LaplaceNoise):
        return {"kind": "laplace", "sigma": noise.sigma.hex()}
    if isinstance(noise, BallNoise):
        law = {
            "kind": "ball",
            "dimension": noise.dimension,
            "scale": noise.scale.hex(),
            "step": noise.step.hex(),
        }
        return law if noise.domain == "real" else {**law, "domain": noise.domain}
    raise UnsupportedError(f"{type(noise).__name__} cannot be saved.")


def law_from_json(law: dict[str, Any]) -> Noise:
    """The inverse of `law_as_json`."""
    kind = law["kind"]
    if kind == "lattice":
        ratio = law["tail_ratio"]
        return LatticeNoise(
            [float.fromhex(mass) for mass in law["shell_masses"]],  # type: ignore[arg-type]
            None if ratio is None else float.fromhex(ratio),
            float.fromhex(law["step"]),
            law["domain"],
            law["dimension"],
        )
    if kind == "gaussian":
        return GaussianNoise(float.fromhex(law["sigma"]))
    if kind == "laplace":
        return LaplaceNoise(float.fromhex(law["sigma"]))
    if kind == "ball":
        answers, domain = answers_of_a_draw(law["dimension"]), law.get("domain", "real")
        return BallNoise(float.fromhex(law["scale"]), answers, float.fromhex(law["step"]), domain)
    raise InvalidFileError(f"unknown kind of law {kind!r}")


def answers_of_a_draw(stated: Any) -> int:
    """How many answers one draw serves, as a file states it: whoever wrote it does not pay for the work."""
    answers = positive_integer("dimension", stated)
    if answers > MOST_ANSWERS:
        raise InvalidParameterError("dimension", answers, f"to be at most {MOST_ANSWERS} in a file")
    return answers


def write_whole(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file so that a reader, or a crash, sees either the old content or all of the new.

    A link is replaced by the file, never followed: who made it cannot choose what is written over.

    What is there and is no file, such as /dev/null, is refused: it would be replaced by a file, for
    every program of the machine.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise OSError(errno.EINVAL, "Not a file that can be replaced", os.fspath(target))
    temporary = target.parent / f".leastnoise-{secrets.token_hex(8)}"
    # The system takes the umask off by itself; to ask for it is to change it, for every thread.
    handle = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def spreadsheet_text(cell: str) -> str:
    """The text, marked as text where a spreadsheet would run it as a formula."""
    return "'" + cell if cell[:1] in {*"=+-@\t\r＝＋－＠"} else cell


def _digest(law: dict[str, Any]) -> str:
    canonical = json.dumps(law, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
