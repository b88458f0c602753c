"""What the package says, in the words of the command line: options for parameters, commands for
functions.

The package speaks Python: "Expected sigma=None or epsilon=None to be given", "declare its budget
with open_dataset". Here, and only here, this becomes "Expected --sigma or --epsilon to be given",
"declare its budget with: leastnoise ledger open". A name becomes an option only if the command has
such an option and the error is not about a file, whose fields have the same names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from leastnoise.text.characters import shown

if TYPE_CHECKING:
    from leastnoise.errors import InvalidParameterError, LeastNoiseError

# What the package calls a parameter, where the command line calls it otherwise.
_ALIASES = {
    "name": "dataset",
    "plan_hash": "plan",
    "picture": "plot",
    "size": "count",
    "n": "compositions",
    "dimension": "batch",
    "path": "file",
}

# Advice to a Python programmer, and the same to somebody at a shell.
# `tests/cli/test_cli_messages.py` finds each in the source.
PHRASES: Mapping[str, str] = {
    "declare its budget with open_dataset.": "declare its budget with: leastnoise ledger open.",
    "see check().": "see: leastnoise ledger check.",
    ", or give release(..., table=...).": ".",
    "make it exact(noise, delta=..., ...) and judge that.": "write one that is with: leastnoise "
    "design … --out noise.json.",
    "use its lattice form, generalized_gaussian(sigma, 2.0) or generalized_gaussian(sigma, 1.0).": (
        "write a law that can with: leastnoise design … --out noise.json."
    ),
    "to go on with a series, open it without questions.": (
        "to go on with a series, use: leastnoise series ask."
    ),
    "open one for such a plan, open_series(..., plan=...).": (
        "open one for such a plan: leastnoise series open --plan."
    ),
    'open one with domain="real" for other questions': "open one with --domain real for others",
    'open a series with domain="real".': "open a series with --domain real.",
    "to answer, open it with its passphrase.": "to answer, add --passphrase.",
    "to answer, open it with that ledger, which": "to answer, add --ledger and that ledger, which",
    "judge it for OneSided(), or take noise for changes of any signs.": (
        "judge it for these, as its artefact does (or say --changes one-sided), or take noise for "
        "changes of any signs."
    ),
    "take sphere(sigma, batch).": "design noise for it: leastnoise design --radius.",
    "GaussianNoise is ": "The Gaussian law is ",
    "LaplaceNoise is ": "The Laplace law is ",
}
_VALUE = (
    r"None|True|False|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|\([^)]*\)"
    r"|[-+]?(?:inf|nan|[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?)(?![\w])|<[^>]*>"
)
_NAMED = re.compile(rf"(?<![\w.\-])(--[a-z][a-z-]*|[A-Za-z_][\w.]*)=({_VALUE})")
_LONGEST = 120  # characters of one word: a number of 5,000 digits says no more than its beginning
_LONG_WORD = re.compile(rf"\S{{{_LONGEST + 1},}}")


def refused(option: str, value: Any, expected: str) -> InvalidParameterError:
    """The error to raise for an option. Its class is imported only here, where it is needed: it
    brings numpy, and `leastnoise --help` needs none."""
    from leastnoise.errors import InvalidParameterError

    return InvalidParameterError(option, value, expected)


def sentence(error: LeastNoiseError, command: click.Command) -> str:
    """The error's message for somebody who called `command`."""
    from leastnoise.errors import (
        BudgetExceededError,
        InvalidFileError,
        LedgerError,
        PlanError,
    )

    about_a_file = isinstance(error, (InvalidFileError, PlanError))
    options = {} if about_a_file else _options(command)
    if isinstance(error, (LedgerError, BudgetExceededError)):
        for spent in ("epsilon", "delta"):  # the ledger's, not those of the command
            options.pop(spent, None)

    def shown(match: re.Match[str]) -> str:
        name, value = match.group(1), match.group(2)
        known = name if name.startswith("--") or name.isupper() else options.get(name)
        if value == "None" or (known is not None and value == "True"):
            return known or name
        plain = {"True": "true", "False": "false"}.get(value, value)
        if plain.startswith("("):  # a list, in the words of a plan
            plain = f"[{plain[1:-1].rstrip(',')}]"
        if known is None:
            return f"{name}={plain}"
        return f"{known} {_typed(plain) if known.startswith('--') else plain}"

    said = str(error)
    for python, shell in PHRASES.items():
        said = said.replace(python, shell)
    return _NAMED.sub(shown, said)


def printable(text: str) -> str:
    """The text on one line, without control characters, and with no word longer than a line."""
    line = shown(" ".join(text.split()))
    return _LONG_WORD.sub(
        lambda word: f"{word.group()[: _LONGEST - 20]}…{word.group()[-10:]}", line
    )


def _options(command: click.Command) -> dict[str, str]:
    """What a user types for each parameter, by the name it has in Python."""
    typed = {}
    for parameter in command.params:
        if parameter.name is not None:
            is_option = isinstance(parameter, click.Option)
            typed[parameter.name] = (
                max(parameter.opts, key=len) if is_option else parameter.human_readable_name
            )
    return typed | {
        name: typed[other]
        for name, other in _ALIASES.items()
        if other in typed and name not in typed
    }


def _typed(value: str) -> str:
    """A value as it is typed: a word without its quotes."""
    inside = value[1:-1] if value[:1] in "'\"" else value
    return inside if re.fullmatch(r"[\w./+-]+", inside) else value
