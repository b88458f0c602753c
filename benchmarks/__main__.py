"""`python -m benchmarks [NAME …]`: run every benchmark module, or the named ones, each printing its table.

`mutants`, which is no benchmark but half an hour of tests, runs only when it is named.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(names: list[str]) -> None:
    known = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_"))
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"Unknown benchmark {', '.join(sorted(unknown))}; known: {', '.join(known)}.")
    for name in names or [name for name in known if name != "mutants"]:
        print(f"\n## {name}\n", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
