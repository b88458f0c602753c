"""`python -m leastnoise.paper fig1 … fig7 | table1 | beyond | all [--quick] [--out DIR]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from leastnoise.errors import LeastNoiseError
from leastnoise.paper.run import NAMES, reproduce
from leastnoise.paper.sweep import Options, Workers
from leastnoise.texts import shown


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


def run(arguments: Sequence[str] | None = None, prog: str = "python -m leastnoise.paper") -> None:
    """Everything that the arguments ask for, as files whose names are printed."""
    parser = _Parser(
        prog=prog,
        description="Reproduce the paper's figures and tables.",
        epilog=f"Example: {prog} fig1 --quick --out figures",
    )
    parser.add_argument(
        "names",
        nargs="+",
        choices=[*NAMES, "all"],
        metavar="NAME",
        help=f"{', '.join(NAMES)} or all",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small grids and few iterations: seconds instead of minutes",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("paper"), metavar="DIR", help="default: paper"
    )
    parser.add_argument(
        "--draw-only",
        action="store_true",
        help="draw the records in DIR/results again without computing",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="forget finished cells of earlier runs (after a change of the code)",
    )
    parser.add_argument("--processes", type=int, metavar="N", help="default: one a processor")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, such as tcp://10.0.0.7:8786"
    )
    parser.add_argument(
        "--heart",
        type=Path,
        metavar="FILE",
        help="processed.cleveland.data of the UCI heart-disease data",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object with the files written"
    )
    given = parser.parse_args(arguments)
    if given.out == Path("-"):
        parser.error("argument --out: a folder is needed, and - is none")
    names = NAMES if "all" in given.names else given.names
    written: list[str] = []
    workers = Workers(processes=given.processes, scheduler=given.scheduler)
    options = Options(workers=workers, store=given.out / "results", heart=given.heart)
    for name in names:
        kept = options.store_for(name)
        if given.fresh and kept is not None:
            kept.unlink(missing_ok=True)
        for path in reproduce(
            [name],
            out=given.out,
            quick=given.quick,
            options=options,
            compute_again=not given.draw_only,
        ):
            if path.suffix != ".md":
                written.append(str(path))
                if not given.json:
                    print(shown(str(path)), flush=True)
    if given.json:
        print(json.dumps({"files": written}))


if __name__ == "__main__":
    sys.exit(main())
