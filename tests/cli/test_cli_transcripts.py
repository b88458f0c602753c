"""Every command as a program of its own: what stands on standard output and standard error, and how
it ends.

The other tests of the command line call it inside this process. Here are the things that only a
process of its own shows: streams that are closed, full, piped or not UTF-8, terminals, interrupts,
and shells.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import click
import pytest

from leastnoise.cli import main

PROGRAM = [sys.executable, "-m", "leastnoise"]
QUICK = ("account", "laplace", "--sigma", "8", "--delta", "1e-6")
COMPARE = ("compare", "--delta", "1e-6", "--sigma", "8")
PLAN = """\
name = "ages"
dataset = "patients"
epsilon = 0.5
delta = 1e-9
relation = "replace"
one_row_per_person = true

[source]
csv = "people.csv"

[[statistic]]
kind = "mean"
name = "age"
column = "age"
lower = 0
upper = 100
pitch = 1
missing = 50
public_n = 200
"""


def run(*arguments: str, folder: Path | None = None, **options):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **options.pop("env", {})}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment,
        encoding="utf-8",
        check=False,
        **streams,
    )


def commands(group: click.Group = main, path: tuple[str, ...] = ()):
    """Every command and every group, by the words that call it."""
    for name, command in sorted(group.commands.items()):
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def examples(command: click.Command) -> list[str]:
    return [
        line.strip()
        for line in (command.help or "").splitlines()
        if line.strip().startswith("leastnoise ")
    ]


@pytest.fixture
def desk(tmp_path):
    """A folder with a table and a plan."""
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(200)))
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


# --- help


@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=" ".join)
def test_help_shows_an_example_and_the_meaning_of_every_option(path):
    shown = run(*path, "--help")
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert (
        f"leastnoise {' '.join(path)} " in shown.stdout
        or f"leastnoise {' '.join(path)}\n" in shown.stdout
    )
    if path != ("reproduce",):  # it passes everything on
        command = dict(commands())[path]
        options = [each for each in command.params if isinstance(each, click.Option)]
        assert all(each.help for each in options), [each.name for each in options if not each.help]


def test_the_examples_of_every_help_run_in_order(desk):
    """One after the other in one folder, as a reader would type them; a server does not end and the
    paper takes long."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("ibis")
    order = ("design", "compare", "account", "sample", "verify", "ledger", "release", "ledger")
    found = dict(commands())
    lines = [line for name in order[:-2] for line in examples(found[(name,)])]
    lines += [*examples(found[("release",)])]
    lines += examples(found[("frontier",)])[1:]  # that of ten answers takes half a minute
    two = [path for path in found if len(path) == 2 and path[0] != "series"]
    # a series is opened before it is asked; that of the last example is for a plan
    two += [("series", name) for name in ("open", "ask", "show", "close", "release")]
    assert {path for path in found if len(path) == 2} == set(two)
    lines += [line for path in two for line in examples(found[path])]
    (desk / "answer.txt").write_text("1203\n")
    assert len(lines) >= 18
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "leastnoise"
        done = run(*arguments, folder=desk)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        notice = "leastnoise: This is noise to look at" if arguments[0] == "sample" else "written: "
        assert done.stderr == "" or done.stderr.startswith(notice), line
    for name in (
        "noise.json",
        "law.png",
        "comparison.svg",
        "laplace.pdf",
        "numbers.csv",
        "report.html",
        "releases.csv",
        "answered.csv",
    ):
        assert (desk / name).stat().st_size > 100
    assert not [name for name in os.listdir(desk) if name.startswith(".leastnoise")]


def test_the_examples_of_perturb_run(desk):
    """With the artefact and the ledger of the other examples; one answer a line, ten lines for the
    ten answers of one draw."""
    found = dict(commands())
    (desk / "answers.txt").write_text("".join(f"{i / 10}\n" for i in range(10)))
    (desk / "table.csv").write_text("ward,count\n" + "".join(f"w{i},{10 * i}\n" for i in range(10)))
    lines = [
        *examples(found[("design",)])[1:2],
        *examples(found[("ledger", "open")]),
        *examples(found[("perturb",)]),
    ]
    assert len(lines) == 4
    for line in lines:
        done = run(*shlex.split(line)[1:], folder=desk)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    assert (desk / "noisy.csv").read_text().startswith("ward,count\nw0,")
    assert "Recorded as release" in done.stderr


# --- standard output is JSON and nothing else


def test_every_json_is_one_object_and_standard_error_is_empty(desk):
    pytest.importorskip("ibis")
    book = ("budget.ledger", "patients")
    (desk / "answer.txt").write_text("0.1")
    calls = [
        ("design", "--delta", "1e-9", "--sigma", "8", "--out", "noise.json"),
        COMPARE,
        (*QUICK, "--epsilon", "1"),
        ("sample", "noise.json", "-n", "3"),
        ("perturb", "noise.json", "answer.txt"),
        ("verify", "noise.json"),
        ("ledger", "open", *book, "--epsilon", "2", "--delta", "1e-6"),
        ("release", "plan.toml", "--ledger", "budget.ledger", "--out", "numbers.csv"),
        ("ledger", "spend", *book, "noise.json", "--plan", "March", "--preview"),
        ("ledger", "spend", *book, "noise.json", "--plan", "March"),
        ("ledger", "show", "budget.ledger"),
        ("ledger", "check", "budget.ledger"),
        ("release", "plan.toml", "--preview"),
    ]
    for call in calls:
        done = run(*call, "--json", folder=desk)
        assert done.returncode == 0, (call, done.stderr)
        assert done.stderr == ""
        assert isinstance(json.loads(done.stdout, parse_constant=pytest.fail), dict)
    without = {
        path
        for path, command in commands()
        if not any(each.name == "as_json" for each in command.params)
    }
    # Groups, a script for the shell, JSON without being asked, and commands that write files.
    groups, files = {("ledger",), ("series",)}, {("reproduce",), ("init",), ("demo",)}
    assert without == {("completion",), *groups, ("ledger", "export"), *files}


def test_infinity_in_a_list_is_valid_json(capsys):
    from leastnoise.cli.output import print_json

    print_json({"laws": [{"epsilon": float("inf")}, (float("-inf"), 1.0)]})
    assert json.loads(capsys.readouterr().out) == {"laws": [{"epsilon": "inf"}, ["-inf", 1.0]]}


# --- bad input: exit 2, one sentence, nothing written


BAD = [
    "nonsense",
    "--nonsense",
    "design",
    "design --delta",
    "design --delta x --sigma 8",
    "design --delta 1e-6 --sigma 8 surplus",
    "design --delta nan --sigma 8",
    "design --delta 1e-6 --sigma inf",
    "design --delta 1e-6 --sigma 1e300",
    "design --delta 1e-6 --epsilon 0",
    "design --delta 1e-6 --sigma 8 --compositions 0",
    "design --delta 1e-6 --sigma 8 --compositions 99999999999999999999999",
    "design --delta 1e-6 --sigma 8 --batch -1",
    "design --delta 1e-6 --sigma 8 --domain complex",
    "design --delta 1e-6 --sigma 8 --renyi-order 5",
    "design --delta 1e-6 --sigma 8 --out nowhere/noise.json",
    "design --delta 1e-6 --sigma 8 --out .",
    "compare --delta 1e-6",
    "compare --delta 1e-6 --sigma nan",
    "account gaussian --delta 1e-6",
    "account Gaussian --sigma 8 --delta 1e-6",
    "account gaussian --sigma 8 --delta 1e-6 --compositions -5 --batch -2",
    "account gaussian --sigma 8 --delta 1e-6 --batch 0",
    "account gaussian --sigma 8 --delta 1e-6 --epsilon -1",
    "account . --delta 1e-6",
    "account empty.json --delta 1e-6",
    "account binary.json --delta 1e-6",
    "account list.json --delta 1e-6",
    "sample missing.json",
    "sample .",
    "sample binary.json",
    "sample empty.json -n 0",
    "verify missing.json",
    "verify .",
    "verify deep.json",
    "verify grüße.json",
    "release missing.toml --no-ledger",
    "release . --no-ledger",
    "release binary.json --no-ledger",
    "release empty.json --no-ledger",
    "release plan.toml",
    "release plan.toml --ledger binary.json",
    "release plan.toml --no-ledger --out numbers.txt",
    "release plan.toml --no-ledger --plot nowhere/picture.png",
    "ledger nonsense",
    "ledger open nowhere/budget.ledger patients --epsilon 1 --delta 1e-6",
    "ledger open budget.ledger patients --epsilon nan --delta 1e-6",
    "ledger open budget.ledger patients --epsilon 1 --delta 1e-6 --rule other",
    "ledger show binary.json",
    "ledger check .",
    "ledger spend budget.ledger patients missing.json --plan x",
    "ledger export missing.ledger",
    "ledger export missing.ledger --format xml",
    "serve --port 99999",
    "serve --port x",
    "completion",
    "completion csh",
]


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    (folder / "empty.json").write_bytes(b"")
    (folder / "binary.json").write_bytes(bytes(range(256)) * 8)
    (folder / "list.json").write_text("[1, 2]")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "plan.toml").write_text(PLAN)
    return folder


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_sentence_and_exit_2(odd_files, monkeypatch, line):
    from click.testing import CliRunner

    monkeypatch.chdir(odd_files)
    before = sorted(os.listdir())
    done = CliRunner().invoke(main, line.split(), prog_name="leastnoise")
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert done.stderr.startswith("leastnoise: ")
    assert done.stderr.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_usage_errors_say_where_to_read_on():
    assert (
        run("compare").stderr
        == "leastnoise: Missing option '--delta'; see leastnoise compare --help.\n"
    )


@pytest.mark.parametrize("path", [(), ("ledger",)])
def test_a_group_without_a_command_shows_its_help(path):
    done = run(*path)
    assert "Commands:" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_an_unknown_law_is_told_the_known_ones():
    said = run("account", "Gaussian", "--sigma", "8", "--delta", "1e-6").stderr
    assert "LAW 'Gaussian'" in said
    assert "gaussian, laplace, staircase" in said


def test_a_law_file_may_be_called_like_a_named_law(tmp_path):
    from leastnoise import cube

    cube(3.0, 1).save(tmp_path / "gaussian")
    done = run("sample", "gaussian", "-n", "2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_the_draws_of_a_joint_law_are_counted_in_answers(tmp_path):
    from leastnoise import cube

    cube(8.0, 10).save(tmp_path / "ten.json")
    text = run("account", "ten.json", "--delta", "1e-6", "--batch", "15", folder=tmp_path).stdout
    assert "2 draws of 10 answers each" in text
    found = json.loads(
        run("account", "ten.json", "--delta", "1e-6", "--json", folder=tmp_path).stdout
    )
    assert (found["dimension"], found["draws"]) == (10, 1)


# --- streams


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_closed_standard_output_is_no_accident(more):
    command = " ".join(shlex.quote(word) for word in [*PROGRAM, *QUICK, *more]) + " >&-"
    done = subprocess.run(
        ["sh", "-c", command], stderr=subprocess.PIPE, encoding="utf-8", check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "arguments", [QUICK, (*QUICK, "--json"), ("--help",), ("account", "--help")], ids=" ".join
)
def test_a_full_disk_is_one_sentence(arguments):
    with open("/dev/full", "w") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "leastnoise: No space left on device\n"


def test_a_pipe_that_ends_early_is_no_accident(tmp_path):
    from leastnoise import cube

    cube(3.0, 1).save(tmp_path / "law.json")
    words = " ".join(shlex.quote(word) for word in [*PROGRAM, "sample", "law.json", "-n", "100000"])
    script = f"{{ {words}; echo $? >code; }} | head -n 1"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr.count("\n") == 1  # what the numbers are not for
    assert (tmp_path / "code").read_text() == "0\n"


ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("arguments", [COMPARE, ("compare", "--help")], ids=" ".join)
def test_greek_letters_are_printed_in_any_locale(arguments):
    done = run(*arguments, env=ASCII)
    assert done.returncode == 0, done.stderr
    assert "ε" in done.stdout


# --- terminals


def on_terminal(*arguments: str, width: int, env: dict[str, str]) -> tuple[int, str]:
    """Exit code and output of a command whose three streams are one terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {
        key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")
    }
    child = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "OPENBLAS_NUM_THREADS": "1", "TERM": "xterm", **env},
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not read:
            break
        output += read
    os.close(ours)
    return child.wait(), output.decode("utf-8")


@pytest.mark.parametrize(
    ("width", "env", "ruled"),
    [
        (120, {}, "─"),
        (120, {"TERM": "dumb"}, "─"),
        (120, {"NO_COLOR": "1"}, "─"),
        (30, {}, None),
        (120, ASCII, "---"),
    ],
    ids=["wide", "dumb", "no colour", "narrow", "ascii"],
)
def test_a_comparison_on_a_terminal(width, env, ruled):
    code, output = on_terminal(*COMPARE, width=width, env=env)
    assert code == 0, output
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    for cell in (
        "optimised",
        "0.17659",
        "Gaussian",
        "0.503856",
        "21.335",
    ):  # whatever the terminal, no number is cut
        assert cell in plain
    assert "…" not in plain
    assert ruled is None or ruled in plain
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", output)  # bold at most
    if env.get("TERM") == "dumb":
        assert "\x1b" not in output


def test_a_progress_bar_shows_on_a_terminal_only(desk, monkeypatch):
    pytest.importorskip("ibis")
    monkeypatch.chdir(desk)
    code, output = on_terminal("release", "plan.toml", "--no-ledger", width=100, env=ASCII)
    assert code == 0, output
    assert "designing the noise" in output
    assert run("release", "plan.toml", "--no-ledger", folder=desk).stderr == ""


# --- interrupts


INTERRUPTED = """
import os, signal, sys

kind, place, *arguments = sys.argv[1:]
sys.argv = ["leastnoise", *arguments]
sent = []

def interrupt():
    if not sent:
        sent.append(True)
        print("interrupted", flush=True)
        os.kill(os.getpid(), signal.SIGINT)

def imported(event, details):
    if event == "import" and details[0] == place:
        interrupt()

def called(frame, event, value):
    ours = str(frame.f_globals.get("__name__")).startswith("leastnoise")  # None at the very end
    if event == "call" and frame.f_code.co_qualname == place and ours:
        interrupt()

if kind == "import":
    sys.addaudithook(imported)
else:
    sys.setprofile(called)
from leastnoise.__main__ import run
run()
"""


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("import", "leastnoise.cli"),
        ("import", "click"),
        ("import", "click.core"),
        ("import", "leastnoise.cli.compare"),
        ("import", "leastnoise.designer.compare"),
        ("import", "numpy"),
        (
            "import",
            "numpy._core._multiarray_umath",
        ),  # compiled: an exception becomes an ImportError
        ("import", "scipy.linalg"),
        ("import", "leastnoise.accountant.privacy_loss"),
        ("call", "_Commands.main"),
        ("call", "_Command.make_context"),
        ("call", "compare"),
        ("call", "PrivacyLoss.of"),
        ("call", "print_comparison"),
        ("call", "_flush"),
    ],
    ids=" ".join,
)
def test_an_interrupt_at_any_instant_is_silent(tmp_path, kind, place):
    """While modules are imported, while the noise is designed, while the answer is printed: 130 and
    no word; done is done."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, kind, place, *COMPARE],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert "interrupted\n" in done.stdout  # the instant was reached
    assert done.stderr == ""
    assert done.returncode == (0 if place == "_flush" else 130)
    assert os.listdir(tmp_path) == []


def test_an_ignored_interrupt_stays_ignored():
    """As in the background of a script, where the shell ignores Ctrl-C for its children."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + INTERRUPTED
    done = subprocess.run(
        [sys.executable, "-c", code, "call", "account", *QUICK],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "epsilon = " in done.stdout


def test_an_interrupt_that_became_another_error_is_still_an_interrupt():
    """The import of compiled code turns a KeyboardInterrupt into an ImportError."""
    code = (
        "import os, signal, click\n"
        "from leastnoise.cli import main\n"
        "@main.command()\n"
        "def sleepy():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        raise SystemExit(7)\n"
        "    except KeyboardInterrupt:\n"
        "        raise ImportError('initialization failed') from None\n"
        "main(['sleepy'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# --- shells


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["comp"], ["compare", "completion"]),
        (["ledger", ""], ["check", "export", "open", "show", "spend"]),
        (["design", "--d"], ["--delta", "--domain"]),
        (["design", "--domain", ""], ["real", "integer"]),
        (["account", "lap"], ["laplace"]),
        (["account", "discrete-g"], ["discrete-gaussian"]),
    ],
    ids=lambda value: " ".join(value) or None,
)
def test_bash_completes(tmp_path, words, offered):
    """The script is loaded and its function called as bash would, with the command in the path."""
    program = tmp_path / "leastnoise"
    program.write_text(
        "#!/bin/sh\nexec " + " ".join(shlex.quote(word) for word in PROGRAM) + ' "$@"\n'
    )
    program.chmod(0o755)
    line = " ".join(shlex.quote(word) for word in ["leastnoise", *words])
    script = (
        'eval "$(leastnoise completion bash)"\n'
        f"COMP_WORDS=({line})\nCOMP_CWORD={len(words)}\n"
        '_leastnoise_completion leastnoise\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, encoding="utf-8", env=environment, check=False
    )
    assert done.stdout.split() == offered, done.stderr
