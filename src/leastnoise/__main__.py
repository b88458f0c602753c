"""`leastnoise` and `python -m leastnoise`: the command line, quiet from its first instant to its
last.

An interrupt while modules load ends the process at once: nothing is open yet. Then `leastnoise.cli`
decides what it means, and once that is done interrupts no longer count.
"""

try:
    import os
    import signal
    import sys
except KeyboardInterrupt:
    raise SystemExit(130) from None


def run() -> None:
    """The program; ends with its exit code."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _leave)
    try:
        from leastnoise.cli import main
        from leastnoise.cli.interrupts import interrupts
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing == "leastnoise":
            raise
        from leastnoise.optional import installing

        sys.stderr.write(f"leastnoise: The command line needs {missing}: {installing('cli')}\n")
        raise SystemExit(2) from None
    try:
        with interrupts(instead_of=_leave):
            main(prog_name="leastnoise")
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _flush()


def _leave(number: int, frame: object) -> None:
    """Not as an exception: the import of compiled code would make an ImportError of it."""
    os._exit(130)


def _flush() -> None:
    """What is left to write goes to a reader that may be gone; the interpreter would complain about
    it at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
