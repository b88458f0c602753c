"""Formulas as MathML, which every current browser shows by itself: no script, no font and no
picture is fetched or made."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

_log = logging.getLogger(__name__)


def _mathml(node: nodes.Element, display: str) -> str:
    found: str = convert(node.astext(), display=display)
    if "\\" in found:  # a command that the converter does not know goes through as text
        _log.warning("a formula was not understood: %s", node.astext(), location=node)
    return found


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
