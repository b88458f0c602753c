"""Laws as JSON files. Numbers are written as hexadecimal floats, so a law comes back bit for bit; a SHA-256 guards the content.

{"format": "leastnoise.noise", "version": 1, "sha256": "…", "law": {"kind": "lattice", …}}
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.ball import BallNoise
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.errors import InvalidFileError, LeastNoiseError, UnsupportedError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise

FORMAT = "leastnoise.noise"
VERSION = 1


def save(noise: Noise, path: str | PathLike[str]) -> None:
    """Write `noise` to `path`, whole or not at all."""
    law = law_as_json(noise)
    content = {"format": FORMAT, "version": VERSION, "sha256": _digest(law), "law": law}
    write_whole(path, json.dumps(content, indent=1) + "\n")


def load(path: str | PathLike[str]) -> Noise:
    """The law in the file at `path`, or an InvalidFileError that says what is wrong with the file."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidFileError(f"Cannot read {os.fspath(path)!r}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{os.fspath(path)!r} is not complete JSON (truncated or damaged?): {error}.") from None
    where = repr(os.fspath(path))
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidFileError(f"{where} is not a saved noise law: its format is not {FORMAT!r}.")
    if content.get("version") != VERSION or isinstance(content["version"], bool):
        raise InvalidFileError(f"{where} has version {content.get('version')!r}; this release reads version {VERSION}.")
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
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    return str(content.get("format", "")) if isinstance(content, dict) else ""


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
        law = {"kind": "ball", "dimension": noise.dimension, "scale": noise.scale.hex(), "step": noise.step.hex()}
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
        return BallNoise(float.fromhex(law["scale"]), law["dimension"], float.fromhex(law["step"]), law.get("domain", "real"))
    raise InvalidFileError(f"unknown kind of law {kind!r}")


def write_whole(path: str | PathLike[str], text: str) -> None:
    """Write a file so that a reader, or a crash, sees either the old content or all of the new."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent or ".", prefix=".leastnoise-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _digest(law: dict[str, Any]) -> str:
    canonical = json.dumps(law, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
