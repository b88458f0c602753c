"""Four journeys through the source: which functions a reader passes, from a call of the user to
where the numbers are made. `python -m benchmarks journeys [--tree PATH]`.

A design   `design` → the banded factorisation of a Newton step
An ε       `PrivacyLoss.of` → the table of losses of one release; from it, `.epsilon` → the Fourier
           transform
A release  `release` → a byte of the operating system's entropy
A slider   the service behind the explorer's page → `design`

Listed are the functions of the package that are on the stack when the place is reached for the
first time; those without a name of their own are left out. PATH may be an old checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> None:
    """Print the journeys of a tree, in a process that imports this tree and no other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks journeys")
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="PATH")
    tree = parser.parse_args(arguments or []).tree.resolve()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(ROOT)])}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("clinic.toml", "clinic.csv"):
            shutil.copy(ROOT / "examples" / name, folder)
        command = [sys.executable, "-c", "import benchmarks.journeys as it; it.travel()"]
        subprocess.run(command, env=environment, cwd=folder, check=True)


def travel() -> None:
    """Every journey, in the package that can be imported."""
    from leastnoise import PrivacyLoss, design, discrete_gaussian, load_plan, release

    noise = discrete_gaussian(4.0)
    plan_file = Path("clinic.toml")
    plan = plan_file.read_text(encoding="utf-8").replace('dataset = "clinic"\n', "delta = 1e-6\n")
    plan_file.write_text(plan, encoding="utf-8")
    show("a design", on_the_way(lambda: design(delta=1e-6, sigma=8.0, compositions=10), "dpbtrf"))
    to_the_table = on_the_way(lambda: PrivacyLoss.of(noise), "._line_table")
    composed = PrivacyLoss.of(noise).compose(10)
    show("an ε", to_the_table + on_the_way(lambda: composed.epsilon(1e-6), "rfft"))
    show("a release", on_the_way(lambda: release(load_plan(plan_file)), "urandom"))
    show("a slider moved", asyncio.run(behind_the_page()))


def show(title: str, names: list[str]) -> None:
    print(f"{title} ({len(names)})\n    " + "\n    ".join(names))


def on_the_way(run: Callable[[], Any], place: str) -> list[str]:
    """The functions on the stack when one of the package whose name ends in `place` is entered, or
    one whose code names it."""
    found: list[str] = []

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or found or not (name := named(frame.f_code)):
            return
        if name.endswith(place) or place in frame.f_code.co_names:
            found.extend(reversed(stack(frame)))

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def stack(frame: FrameType | None) -> list[str]:
    """The package's functions from `frame` outwards."""
    names = []
    while frame is not None:
        if name := named(frame.f_code):
            names.append(name)
        frame = frame.f_back
    return names


def named(code: CodeType) -> str:
    """module.function, or nothing for what is no function of the package or has no name."""
    _, inside, path = code.co_filename.replace(os.sep, "/").partition("/src/leastnoise/")
    if not inside or code.co_name.startswith("<"):
        return ""
    return f"{path.removesuffix('.py').replace('/', '.')}.{code.co_qualname}"


async def behind_the_page() -> list[str]:
    """From the service's answer to the function that a worker runs, and on to `design`."""
    try:
        service = importlib.import_module("leastnoise.explorer.service")
    except ModuleNotFoundError:
        service = importlib.import_module("leastnoise.web.service")
    found: list[str] = []

    class Here:
        """In the place of the worker processes."""

        async def run(self, function: Callable[..., Any], *given: Any, **how: Any) -> Any:
            waiting = asyncio.all_tasks() - {asyncio.current_task()}
            for task in waiting:
                found.extend(awaited(task.get_coro()))
            found.extend(reversed(stack(sys._getframe(1))))
            made: list[Any] = []
            found.extend(
                on_the_way(lambda: made.append(function(*given)), "designer.design.design")
            )
            return made[0]

        def has_idle(self) -> bool:
            return True

    await service.Service(Here()).design(service.FIRST_SETTING)
    return list(dict.fromkeys(found))


def awaited(coroutine: Any) -> list[str]:
    """The package's coroutines from this one inwards."""
    names = []
    while hasattr(coroutine, "cr_code"):
        if name := named(coroutine.cr_code):
            names.append(name)
        coroutine = coroutine.cr_await
    return names
