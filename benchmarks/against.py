"""An older checkout beside this one, in one run: `python -m benchmarks against PATH [NAME …]
[--seconds 6]`.

Each task has two processes, one of the older and one of this tree, which take turns, so that both
see the same machine. A turn has numbers of its own, slightly other than those before, so that
nothing is remembered; the first, which imports what is needed, is not counted. Shown are processor
seconds, those of child processes included, and of the turns the best: at least five, and as many as
there is time for. A NAME chooses the tasks that begin with it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import math
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DELTA = 1e-6
LEAST_TURNS = 5
DRAWS = 1_000_000
ENTRIES = 40  # of the ledger that is checked
DESIGNS: dict[str, dict[str, Any]] = {
    "one answer": {"sigma": 1.0},
    "one answer, integer": {"sigma": 3.0, "domain": "integer"},
    "3 releases": {"sigma": 1.0, "compositions": 3},
    "10 releases": {"sigma": 8.0, "compositions": 10},
    "10 releases, integer": {"sigma": 8.0, "compositions": 10, "domain": "integer"},
    "1000 releases": {"sigma": 60.0, "compositions": 1000},
    "batch of 2": {"sigma": 4.0, "batch": 2},
    "batch of 10": {"sigma": 8.0, "batch": 10},
    "batch of 10, integer": {"sigma": 8.0, "batch": 10, "domain": "integer"},
    "epsilon": {"epsilon": 1.0},
    "epsilon, 10 releases": {"epsilon": 1.0, "compositions": 10},
    "epsilon, batch of 10": {"epsilon": 1.0, "batch": 10},
    "order 8": {"sigma": 8.0, "objective": "renyi", "renyi_order": 8.0},
}
Task = Callable[[float], Callable[[], object]]  # from a factor on its numbers to what is timed


def main(arguments: list[str] | None = None) -> None:
    """Print the table: the older tree, this one, their ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks against")
    parser.add_argument("path", type=Path, metavar="PATH", help="the older checkout")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only tasks that begin so")
    parser.add_argument("--seconds", type=float, default=6.0, help="for a task, if they suffice")
    given = parser.parse_args(arguments or [])
    print(f"{'processor seconds':34}{'before':>10}{'now':>10}{'ratio':>8}", flush=True)
    for name in tasks():
        if not given.names or name.startswith(tuple(given.names)):
            before, now = best_of_both((given.path.resolve(), ROOT), name, given.seconds)
            print(f"{name:34}{before:10.4f}{now:10.4f}{now / before:8.2f}", flush=True)


def best_of_both(trees: tuple[Path, Path], name: str, seconds: float) -> list[float]:
    """The best turn of either tree."""
    best = [math.inf, math.inf]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        both = [
            stack.enter_context(started(tree, name, folder / side))
            for tree, side in zip(trees, ("before", "now"), strict=True)
        ]
        turn, end = 0, time.monotonic() + seconds
        while turn <= LEAST_TURNS or time.monotonic() < end:
            for side, process in enumerate(both):
                process.stdin.write(f"{turn}\n")
                process.stdin.flush()
                took = float(process.stdout.readline())
                best[side] = min(best[side], took) if turn else math.inf
            turn += 1
    return best


def started(tree: Path, name: str, folder: Path) -> Any:
    """A process that imports this tree and no other, and waits for its turns."""
    folder.mkdir()
    paths = os.pathsep.join([str(tree / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    # Byte code is kept, as after an installation, but not in the trees.
    kept = str(folder.parent / "byte-code")
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": kept}
    command = [sys.executable, "-c", f"import benchmarks.against as it; it.take_turns({name!r})"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, cwd=folder, **pipes)  # type: ignore[call-overload]


def take_turns(name: str) -> None:
    """For every number read print the processor seconds of the task."""
    task, answers = tasks()[name], sys.stdout
    sys.stdout = io.StringIO()
    for line in sys.stdin:
        run = task(1.0 + 1e-4 * int(line))
        begin = processor_seconds()
        run()
        print(processor_seconds() - begin, file=answers, flush=True)


def processor_seconds() -> float:
    """Of this process and the children it has waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def tasks() -> dict[str, Task]:
    """What is timed, by its name in the table."""
    found: dict[str, Task] = {
        f"design: {name}": partial(designing, request) for name, request in DESIGNS.items()
    }
    for releases in (10, 1000, 100_000):
        found[f"judge: {releases:,} releases"] = partial(judging, releases, "epsilon")
        found[f"judge: {releases:,}, both bounds"] = partial(judging, releases, "epsilon_bounds")
    return found | {
        "sampling: a million draws": sampling,
        "artefact: saved": saving,
        "artefact: verified": verifying,
        "release: counts and means": releasing,
        "ledger: check": checking,
        "explorer: design": lambda factor: partial(work().study, setting(factor)),
        "explorer: laws": partial(exploring, "laws"),
        "explorer: curve": partial(exploring, "curve"),
        "explorer: numbers": partial(exploring, "numbers"),
        "import leastnoise": lambda _: partial(python, "-c", "import leastnoise"),
        "import every public name": lambda _: partial(python, "-c", "from leastnoise import *"),
        "command: --help": lambda _: command("--help"),
        "command: design": lambda _: command("design", "--delta", "1e-6", "--sigma", "8"),
        "command: ledger check": checking_by_command,
    }


# The tasks


def designing(request: dict[str, Any], factor: float) -> Callable[[], object]:
    from leastnoise import design

    goal = "sigma" if "sigma" in request else "epsilon"
    return partial(design, delta=DELTA, **(request | {goal: factor * request[goal]}))


def judging(releases: int, question: str, factor: float) -> Callable[[], object]:
    """Four laws: two with closed forms, a table, and a joint law for ten answers."""
    from leastnoise import PrivacyLoss, cube, discrete_gaussian, gaussian, laplace

    sigma = 8.0 * factor
    laws = [gaussian(sigma), laplace(sigma), discrete_gaussian(sigma), cube(sigma, 10)]

    def run() -> None:
        for law in laws:
            getattr(PrivacyLoss.of(law).compose(releases), question)(DELTA)

    return run


def drawn_exactly(factor: float) -> Any:
    from leastnoise import discrete_gaussian, exact

    return exact(discrete_gaussian(8.0 * factor), delta=DELTA, compositions=10)


def sampling(factor: float) -> Callable[[], object]:
    return partial(drawn_exactly(factor).sample, DRAWS)


def saving(factor: float) -> Callable[[], object]:
    from leastnoise.artefact import certify, write_artefact

    law = drawn_exactly(factor)

    def run() -> None:
        artefact = certify(law, sensitivity=1.0, delta=DELTA, compositions=10)
        write_artefact(artefact, f"{factor}.json")

    return run


def verifying(factor: float) -> Callable[[], object]:
    from leastnoise.artefact import verify

    saving(factor)()
    return partial(verify, f"{factor}.json")


def releasing(factor: float) -> Callable[[], object]:
    """The clinic of the examples on DuckDB, by wards, without a ledger."""
    from leastnoise import load_plan, release

    plan = (ROOT / "examples" / "clinic.toml").read_text(encoding="utf-8")
    plan = plan.replace('dataset = "clinic"', f"delta = {DELTA}")
    plan = plan.replace("epsilon = 1.0", f"epsilon = {factor}")
    Path("clinic.csv").write_bytes((ROOT / "examples" / "clinic.csv").read_bytes())
    Path("clinic.toml").write_text(plan, encoding="utf-8")
    return lambda: release(load_plan("clinic.toml"))


def with_entries(factor: float) -> str:
    """A ledger with releases of three laws."""
    from leastnoise import Ledger, gaussian, laplace

    spend = module("ledger.records", "releases.ledger").Spend
    path = f"{factor}.ledger"
    laws = [gaussian(400.0 * factor), laplace(900.0 * factor), drawn_exactly(40.0 * factor)]
    with Ledger(path) as ledger:
        ledger.open_dataset("data", epsilon=20.0, delta=DELTA, rule="adaptive")
        for entry in range(ENTRIES):
            ledger.spend("data", [spend(laws[entry % len(laws)])], plan_hash=f"{entry}")
    return path


def checking(factor: float) -> Callable[[], object]:
    from leastnoise import Ledger

    path = with_entries(factor)

    def run() -> None:
        with Ledger(path) as ledger:
            ledger.check()

    return run


def checking_by_command(factor: float) -> Callable[[], object]:
    return command("ledger", "check", with_entries(factor))


def module(*names: str) -> Any:
    """The first of these that there is: some have moved."""
    for name in names[:-1]:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(f"leastnoise.{name}")
    return importlib.import_module(f"leastnoise.{names[-1]}")


def work() -> Any:
    return module("explorer.tasks", "web.work")


def setting(factor: float) -> Any:
    """What the page opens with."""
    first = module("explorer.service", "web.service").FIRST_SETTING
    return replace(first, epsilon=factor * first.epsilon)


def exploring(question: str, factor: float) -> Callable[[], object]:
    """Asked once the design is there, and the known laws are; in a process that made neither."""
    _, study = work().study(setting(factor))
    if question != "laws" and isinstance(answer := work().laws(study), tuple):
        study = answer[1]  # as it was: the known laws are handed on
    return partial(getattr(work(), question), pickle.loads(pickle.dumps(study)))


def python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def command(*arguments: str) -> Callable[[], object]:
    return partial(python, "-m", "leastnoise", *arguments)
