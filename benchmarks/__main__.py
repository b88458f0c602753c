"""`python -m benchmarks [NAME …]`: every benchmark module, or the named ones, prints its table.

`mutants`, which is no benchmark but half an hour of tests, `fuzz`, ten minutes of hostile files,
`claims`, which tries other values of every constant, `against`, which needs an older checkout,
`house` and `journeys`, which measure the source and not its speed, run only when they are named.
`python -m benchmarks audit --option …` hands the options to the audit; so it is with `claims`,
`house` and `journeys`, and `against` takes all that follows it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

# What runs only when it is named.
_ASKED_FOR = ("against", "claims", "fuzz", "house", "journeys", "mutants")
_WITH_OPTIONS = ("against", "audit", "claims", "house", "journeys")


def main(arguments: list[str]) -> None:
    names, options = split(arguments)
    known = known_benchmarks()
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"Unknown benchmark {', '.join(sorted(unknown))}; known: {', '.join(known)}.")
    if options and (len(names) != 1 or names[0] not in _WITH_OPTIONS):
        some = ", ".join(f"`python -m benchmarks {name}`" for name in _WITH_OPTIONS)
        sys.exit(f"Unknown option {options[0]}: only {some} take options.")
    for name in names or [name for name in known if name not in _ASKED_FOR]:
        print(f"\n## {name}\n", flush=True)
        run = importlib.import_module(f"benchmarks.{name}").main
        run(options) if options else run()


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Names, and the options: what starts with a dash or comes after `against`, and all behind."""
    for index, word in enumerate(arguments):
        if word.startswith("-") or arguments[:index] == ["against"]:
            return arguments[:index], arguments[index:]
    return arguments, []


def known_benchmarks() -> list[str]:
    """The modules of this folder."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in names if not name.startswith("_"))


main(sys.argv[1:])
