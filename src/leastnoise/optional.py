"""Optional packages: imported where they are used, or an error with the line that installs them.

Double quotes are what sh, PowerShell and cmd.exe all understand.
"""

from __future__ import annotations

import importlib
from typing import Any


def installing(extra: str) -> str:
    """The line that installs an extra, from a registry or from a clone."""
    return f'pip install "leastnoise[{extra}]" (in a clone: pip install ".[{extra}]")'


def required(module: str, extra: str, purpose: str = "") -> Any:
    """The foreign module, or a MissingExtraError that names the extra to install;
    `purpose` says what needs it, "This needs …" unless given."""
    package = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").split(".")[0] != package:
            raise
        # late: it brings numpy, and `leastnoise --help` needs none
        from leastnoise.errors import MissingExtraError

        needs = purpose or f"This needs {package}"
        raise MissingExtraError(f"{needs}: {installing(extra)}.") from None
