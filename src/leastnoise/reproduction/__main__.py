"""`python -m leastnoise.reproduction fig1 … fig7 | table1 | beyond | all [--quick] [--out DIR]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from leastnoise.errors import LeastNoiseError
from leastnoise.reproduction.figures import NAMES
from leastnoise.reproduction.run import reproduce
from leastnoise.reproduction.sweep import Options, SweepWorkers
from leastnoise.text.characters import shown


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence instead of the whole usage, and not all of a value that fills the screen."""
        said = shown(message if len(message) <= 300 else f"{message[:200]}…")
        self.exit(2, f"{self.prog}: {said}; see {self.prog} --help.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0, or 2 with one sentence on stderr."""
    try:
        run(arguments)
    except (LeastNoiseError, OSError) as error:
        print(shown(str(error)), file=sys.stderr)
        return 2
    return 0


def run(
    arguments: Sequence[str] | None = None, prog: str = "python -m leastnoise.reproduction"
) -> None:
    """Everything that the arguments ask for, as files whose names are printed."""
    parser = _Parser(
        prog=prog,
        description="Reproduce the paper's figures and tables.",
        epilog=f"Example: {prog} fig1 --quick --out figures",
    )
    add, known = parser.add_argument, f"{', '.join(NAMES)} or all"
    add("names", nargs="+", choices=[*NAMES, "all"], metavar="NAME", help=known)

    def flag(name: str, help: str) -> None:
        add(name, action="store_true", help=help)

    flag("--quick", "small grids and few iterations: seconds instead of minutes")
    add("--out", type=Path, default=Path("paper"), metavar="DIR", help="default: paper")
    flag("--draw-only", "draw the records in DIR/results again without computing")
    flag("--fresh", "forget finished cells of earlier runs (after a change of the code)")
    add("--processes", type=int, metavar="N", help="default: one a processor")
    add("--scheduler", metavar="ADDRESS", help="a Dask scheduler, such as tcp://10.0.0.7:8786")
    heart = "processed.cleveland.data of the UCI heart-disease data"
    add("--heart", type=Path, metavar="FILE", help=heart)
    flag("--json", "print one JSON object with the files written")
    given = parser.parse_args(arguments)
    if given.out == Path("-"):
        parser.error("argument --out: a folder is needed, and - is none")
    names = NAMES if "all" in given.names else given.names
    written: list[str] = []
    workers = SweepWorkers(processes=given.processes, scheduler=given.scheduler)
    options = Options(workers=workers, store=given.out / "results", heart=given.heart)
    for name in names:
        kept = options.store_for(name)
        if given.fresh and kept is not None:
            kept.unlink(missing_ok=True)
        wanted = {"quick": given.quick, "compute_again": not given.draw_only}
        for path in reproduce([name], out=given.out, options=options, **wanted):
            if path.suffix != ".md":
                written.append(str(path))
                if not given.json:
                    print(shown(str(path)), flush=True)
    if given.json:
        print(json.dumps({"files": written}))


if __name__ == "__main__":
    sys.exit(main())
