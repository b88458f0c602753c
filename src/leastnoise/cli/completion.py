"""The command that prints a shell's completion script."""

from __future__ import annotations

import click

from leastnoise.cli.group import main


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that makes a shell complete commands, options and files.

    \b
    bash, once for all:  leastnoise completion bash >> ~/.bashrc
    zsh, once for all:   leastnoise completion zsh >> ~/.zshrc
    fish, once for all:  leastnoise completion fish > ~/.config/fish/completions/leastnoise.fish
    in this shell only:  eval "$(leastnoise completion bash)"
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    # The script alone: click's own `source` asks bash for its version, which fails where there is
    # no bash.
    script = made(main, {}, "leastnoise", "_LEASTNOISE_COMPLETE")
    click.echo(script.source_template % script.source_vars())
