"""The command line. No mathematics here: every command calls the same functions a script would, and
prints what they return.

Exit codes: 0 done, 1 a check failed, 2 bad input, 130 interrupted. `--json` prints one JSON object
on standard output; errors are one sentence on standard error. Numerical modules are imported where
they are used, so that `--help` is instant.
"""

from leastnoise.cli import (
    account,
    check,
    compare,
    completion,
    demo,
    design,
    frontier,
    init,
    ledger,
    perturb,
    release,
    reproduce,
    sample,
    series,
    serve,
    verify,
)
from leastnoise.cli.group import main

__all__ = [
    "account",
    "check",
    "compare",
    "completion",
    "demo",
    "design",
    "frontier",
    "init",
    "ledger",
    "main",
    "perturb",
    "release",
    "reproduce",
    "sample",
    "series",
    "serve",
    "verify",
]
