"""`python -m benchmarks [NAME …]`: run every benchmark module, or the named ones, each printing its table.

`mutants`, which is no benchmark but half an hour of tests, and `fuzz`, ten minutes of hostile files, run only when
they are named.
`python -m benchmarks audit --option …` hands the options to the audit.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(arguments: list[str]) -> None:
    first_option = next(
        (index for index, word in enumerate(arguments) if word.startswith("-")), len(arguments)
    )
    names, options = arguments[:first_option], arguments[first_option:]
    known = sorted(
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if not module.name.startswith("_")
    )
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"Unknown benchmark {', '.join(sorted(unknown))}; known: {', '.join(known)}.")
    if options and names != ["audit"]:
        sys.exit(f"Unknown option {options[0]}: only `python -m benchmarks audit` takes options.")
    for name in names or [name for name in known if name not in ("fuzz", "mutants")]:
        print(f"\n## {name}\n", flush=True)
        run = importlib.import_module(f"benchmarks.{name}").main
        run(options) if options else run()


main(sys.argv[1:])
