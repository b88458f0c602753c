"""The command that opens the explorer."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys

import click

from leastnoise.cli.group import main
from leastnoise.cli.messages import printable, refused
from leastnoise.cli.options import json_option, number
from leastnoise.cli.output import print_json
from leastnoise.optional import installing

_NAMES = "A further host name the server answers to; may be repeated."
_WORKERS = "Processes that design; by default one for each processor, at most 4."


@main.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; anything but loopback is reachable by others.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8710,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option("--name", "names", multiple=True, help=_NAMES)
@number("--workers", _WORKERS, type=click.IntRange(1, 64))
@click.option(
    "--open/--no-open",
    "opens",
    default=None,
    help="Open the page in a browser; by default when started from a terminal.",
)
@json_option
def serve(
    host: str,
    port: int,
    names: tuple[str, ...],
    workers: int | None,
    opens: bool | None,
    as_json: bool,
) -> None:
    """Open the explorer: a local page that shows what ε, δ and the number of answers buy.

    It designs noise and never sees data. Only this machine can reach it unless --host says
    otherwise. Ctrl-C stops it.

    \b
      leastnoise serve
      leastnoise serve --port 0 --no-open --json
    """
    try:
        import uvicorn

        from leastnoise.explorer.app import Limits, configuration
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "anyio", "h11"):
            raise
        needed = f"The explorer needs starlette and uvicorn: {installing('web')}"
        click.echo(f"leastnoise: {needed}", err=True)
        raise SystemExit(2) from None

    listening = _listening(host, port)
    address, port = listening.getsockname()[:2]
    shown = "localhost" if ipaddress.ip_address(address).is_unspecified else address
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
    if not ipaddress.ip_address(address).is_loopback:
        click.echo(
            f"leastnoise: Warning: {address} is not a loopback address. Everybody on its network "
            "can use this page, without a password and without encryption.",
            err=True,
        )

    def started() -> None:
        if as_json:
            print_json({"url": url})
            sys.stdout.flush()
        else:
            click.echo(f"The explorer is at {url} (Ctrl-C stops it)")
        if opens or (opens is None and not as_json and sys.stdout.isatty()):
            click.launch(url)

    limits = Limits(workers=workers or min(os.cpu_count() or 1, 4))
    config = configuration(limits, names, started)
    uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that a port in use is known before anything is started."""
    try:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = known[0]
        found = socket.socket(family, kind, protocol)
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(128)
    except UnicodeError:  # what the encoding of host names makes of an empty or too long label
        expected = "to be the name or the address of this machine"
        raise refused("--host", host, expected) from None
    except OSError as error:
        reason = f"cannot be used: {error.strerror or error}"
        if error.errno == errno.EADDRINUSE:
            reason = "is already in use"
        advice = "choose another with --port"
        click.echo(f"leastnoise: Port {port} of {printable(host)} {reason}; {advice}.", err=True)
        raise SystemExit(2) from None
    return found
