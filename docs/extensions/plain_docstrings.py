"""Docstrings are plain text with code in single backticks and with sections in Google's style
(Args, Returns, Raises, Attributes, Example). What reStructuredText would take for markup is
escaped; sections become lists of fields."""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring

_CODE = re.compile(r"`+[^`]+`+")
# Attributes as fields of the class, not as entries of their own: some of them have one already.
_SECTIONS = Config(napoleon_use_ivar=True, napoleon_use_rtype=False)


def _escaped(line: str) -> str:
    """The line with code as it is, and bars and stars (|z|, a*b) as themselves elsewhere."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts, at = [], 0
    for code in _CODE.finditer(line):
        parts += [
            re.sub(r"([|*])", r"\\\1", line[at : code.start()]),
            f"``{code.group().strip('`')}``",
        ]
        at = code.end()
    return "".join(parts) + re.sub(r"([|*])", r"\\\1", line[at:])


def _plain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    # A dataclass without a docstring gets its own signature for one, which stands above it already.
    if lines and lines[0].startswith(f"{name.split('.')[-1]}("):
        lines.clear()
    plain = [re.sub(r"^Guarantees:", "**Guarantees:**", _escaped(line)) for line in lines]
    lines[:] = GoogleDocstring(plain, _SECTIONS, app, what, name, obj, options).lines()


def _short(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    result: str | None,
) -> Any:
    """Names of types (`autodoc_type_aliases`) as names, also inside a Callable."""
    return tuple(
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
        for text in (signature, result)
    )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _plain)
    app.connect("autodoc-process-signature", _short)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
