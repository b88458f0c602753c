"""Does a test notice every wrong version of the judge, the sampler, the sensitivities and the
series in `_mutants`? Fails if one survives.

`python -m benchmarks mutants`, or `python -m benchmarks.mutants losses/sphere.py …` for those of
some files. Every mutant gets a copy of src/ with one change, and the tests named beside it run
against that copy until the first of them fails.
"""

from __future__ import annotations

import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]
AT_ONCE = 2
MOST_SECONDS = (
    600  # of processor time: a mutant that keeps its tests busy for longer has been noticed too
)


@dataclass(frozen=True)
class Outcome:
    """`killed` by the test `by`; otherwise the mutant survived, or `by` says why it could not be
    judged."""

    mutant: Mutant
    killed: bool
    by: str
    seconds: float


def applied(mutant: Mutant, folder: Path) -> Path:
    """A copy of src/ in `folder` with the mutant's change; an error unless its original stands
    there exactly once."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    changed = source / "leastnoise" / mutant.file
    text = changed.read_text(encoding="utf-8")
    if text.count(mutant.original) != 1:
        raise LookupError(
            f"{mutant.file} has {text.count(mutant.original)} times, not once: {mutant.original!r}"
        )
    changed.write_text(text.replace(mutant.original, mutant.mutated), encoding="utf-8")
    return source


def tested(source: Path, tests: Sequence[str]) -> tuple[int, str]:
    """The exit code of the tests against the package in `source`, and their first failure or last
    words."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        *(f"tests/{name}" for name in tests),
    ]
    found = _run(
        ["bash", "-c", f'ulimit -t {MOST_SECONDS}; exec "$@"', "limited", *command], source
    )
    if found.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return 1, f"more than {MOST_SECONDS} s"
    failed = re.search(r"^(?:FAILED|ERROR) (?:\S*?::)?(.+?)(?: - .*)?$", found.stdout, re.MULTILINE)
    return found.returncode, failed[1] if failed else (found.stdout + found.stderr).strip()[-300:]


def _run(command: list[str], source: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def judged(mutant: Mutant) -> Outcome:
    """What the tests say of one mutant."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = applied(mutant, Path(folder))
        module = "leastnoise." + mutant.file.removesuffix(".py").replace("/", ".")
        where = _run([sys.executable, "-c", f"import {module} as it; print(it.__file__)"], source)
        if not where.stdout.startswith(
            str(source)
        ):  # a mutant must look like an answer; and not be passed over
            raise RuntimeError(
                f"A mutant of {mutant.file} cannot be imported ({mutant.mutated!r}): "
                f"{where.stdout}{where.stderr}"
            )
        code, words = tested(source, mutant.tests)
    if code not in (0, 1, 2):  # neither passed nor failed nor stopped: a test is not there
        raise RuntimeError(f"The tests of a mutant of {mutant.file} could not run: {words}")
    return Outcome(mutant, code != 0, words if code else "", time.monotonic() - start)


def main(files: Sequence[str] = ()) -> None:
    chosen = [mutant for mutant in MUTANTS if not files or mutant.file in files]
    code, words = tested(ROOT / "src", sorted({name for mutant in chosen for name in mutant.tests}))
    if code:
        raise SystemExit(f"The tests fail without any mutant: {words}")
    print(f"{'file':24} {'what it breaks':72} {'seconds':>8}  noticed by")
    survivors = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for outcome in pool.map(judged, chosen):
            by = outcome.by if outcome.killed else "NOBODY"
            survivors += not outcome.killed
            print(
                f"{outcome.mutant.file:24} {outcome.mutant.breaks:72} {outcome.seconds:8.1f}  {by}",
                flush=True,
            )
    print(f"\n{len(chosen) - survivors} of {len(chosen)} mutants are noticed.")
    if survivors:
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
