"""`{commands}`: every command of the command line with the text its `--help` prints, taken from the
program itself."""

from collections.abc import Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_WIDTH = 100


def _commands(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """(full name, help) of a command and all below it."""
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    with click.Context(command, info_name=name, parent=parent, **settings) as context:
        yield context.command_path, command.get_help(context)
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                found = command.get_command(context, below)
                if found is not None and not found.hidden:
                    yield from _commands(found, below, context)


class Commands(SphinxDirective):
    """A section for each command, with its help as it is printed."""

    def run(self) -> list[nodes.Node]:
        from leastnoise.cli import main

        sections: list[nodes.Node] = []
        for name, text in _commands(main, "leastnoise"):
            section = nodes.section(ids=[nodes.make_id(name)])
            section += nodes.title("", "", nodes.literal("", name))
            section += nodes.literal_block(text, text, language="text")
            self.state.document.note_explicit_target(section)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
