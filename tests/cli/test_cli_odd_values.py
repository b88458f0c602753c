"""Every option and every argument of every command with odd values: one sentence and exit 2, or an
answer; never a traceback.

The table is made from the commands themselves, so that a new option is tried as well.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from leastnoise import Ledger, cube, exact, open_series
from leastnoise.artefact import certify, write_artefact
from leastnoise.cli import main

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
LEDGER = ["--ledger", "budget.ledger"]
# A call that works, in a folder with these files; arguments are given in the order of the command.
CALLS = {
    "design": ([], ["--delta", "1e-6", "--sigma", "1"]),
    "compare": ([], ["--delta", "1e-6", "--sigma", "1"]),
    "frontier": ([], ["--epsilon", "1", "--delta", "1e-6", "--advantage", "0.3"]),
    "account": (["laplace"], ["--delta", "1e-6", "--sigma", "1"]),
    "sample": (["noise.json"], []),
    "perturb": (
        ["noise.json", "answers.txt"],
        ["--ledger", "budget.ledger", "--dataset", "patients"],
    ),
    "verify": (["noise.json"], []),
    "release": (["plan.toml"], ["--preview"]),
    "ledger open": (["budget.ledger", "people"], ["--epsilon", "1", "--delta", "1e-6"]),
    "ledger show": (["budget.ledger"], []),
    "ledger spend": (["budget.ledger", "patients", "noise.json"], ["--plan", "x", "--preview"]),
    "ledger export": (["budget.ledger"], []),
    "ledger check": (["budget.ledger"], []),
    "series open": (
        ["new.series"],
        ["--questions", "2", "--sigma", "8", "--delta", "1e-9", *LEDGER, "--dataset", "patients"],
    ),
    "series ask": (["analyst.series", "answers.txt"], ["--sensitivity", "1", *LEDGER]),
    "series release": (["analyst.series", "plan.toml"], LEDGER),
    "series show": (["analyst.series"], []),
    "series close": (["analyst.series"], LEDGER),
    "completion": (["bash"], []),
    "serve": ([], ["--port", "0", "--no-open"]),
}
INSTEAD = {"--epsilon": "--sigma"}  # of a call that works, what an option stands in the place of
ODD = {
    "empty": "",
    "nan": "nan",
    "inf": "inf",
    "minus one": "-1",
    "zero": "0",
    "overflow": "1e400",
    "underflow": "1e-400",
    "5,000 digits": "9" * 5000,
    "4,000 digits": "9" * 4000,
    "300 digits": "9" * 300,
    "umlaut": "ä",
    "control": "\x1b[31m\x07",
    "surrogate": "\udcff",
    "dash": "-",
    "formula": "=1+1",
    "folder": "folder",
    "missing file": "missing.json",
    "below a file": "noise.json/noise.json",
    "a circle of links": "circle",
    "unreadable": "unreadable.json",
    "binary": "binary.json",
    "huge numbers": "huge.json",
    "an empty file": "empty.json",
    # no file to be replaced, like the devices of the machine, which no test may name
    "a socket": "socket",
}
# Commands whose answer may be "no": exit 1.
CHECKS = ("verify", "ledger check", "ledger spend")
PYTHON = re.compile(
    r"\bNone\b|\bTrue\b|\bFalse\b|\w\(\)|\w+Error\b|open_dataset|set_int_max|<class|=\(|unexpected|Traceback|\x1b|\x00"
)


def leaves(group: click.Group = main, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path}{name} ")
        else:
            yield path + name, command


PLACES = [
    (name, parameter)
    for name, command in leaves()
    if name != "reproduce"
    for parameter in command.params
    if isinstance(parameter, click.Argument) or not parameter.is_flag
]


def test_every_command_is_tried():
    assert set(CALLS) == {name for name, _ in leaves()} - {"reproduce"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("odd")
    write_artefact(
        certify(exact(cube(3.0, 1), delta=1e-9, compositions=3), delta=1e-6, compositions=3),
        made / "noise.json",
    )
    text = (made / "noise.json").read_text()
    (made / "huge.json").write_text(
        text.replace('"compositions": 3', '"compositions": ' + "9" * 5000)
    )
    (made / "binary.json").write_bytes(bytes(range(256)))
    (made / "empty.json").touch()
    for own in ("binary.json", "empty.json"):  # passphrases come from files of mode 600
        (made / own).chmod(0o600)
    (made / "answers.txt").write_text("1\n2\n")
    (made / "plan.toml").write_text(PLAN)
    (made / "people.csv").write_text("age\n" + "30\n" * 200)
    (made / "folder").mkdir()
    (made / "circle").symlink_to("circle")
    (made / "unreadable.json").write_text(text)
    (made / "unreadable.json").chmod(0)
    with Ledger(made / "budget.ledger") as ledger:
        ledger.open_dataset("patients", epsilon=2.0, delta=1e-6)
        # one that is charged may be copied to the desks
        new = {"questions": 3, "epsilon": 1.0, "delta": 1e-9, "plan": made / "plan.toml"}
        open_series(made / "analyst.series", **new, ledger=ledger, dataset="patients")
    return made


@pytest.fixture
def desk(folder, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    again(folder, tmp_path)
    return tmp_path


def again(folder: Path, desk: Path) -> None:
    """The folder as it was."""
    for path in desk.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.copytree(folder, desk, symlinks=True, dirs_exist_ok=True)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")  # in the folder that is the current one: a long path would not do


def state(desk: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(desk.iterdir()) if path.is_file()}


def call(name: str, parameter: click.Parameter, value: str) -> list[str]:
    """The working call of a command with `value` for one of its parameters."""
    arguments, options = CALLS[name]
    if isinstance(parameter, click.Option):
        given = list(options)
        for replaced in {parameter.opts[0], INSTEAD.get(parameter.opts[0])} & set(given):
            at = given.index(replaced)
            del given[at : at + 2]
        return [*name.split(), *given, parameter.opts[0], value, "--", *arguments]
    command = dict(leaves())[name]
    place = [each for each in command.params if isinstance(each, click.Argument)].index(parameter)
    return [*name.split(), *options, "--", *arguments[:place], value, *arguments[place + 1 :]]


@pytest.mark.parametrize(
    ("name", "parameter"), PLACES, ids=[f"{name} {parameter.name}" for name, parameter in PLACES]
)
def test_odd_values_never_give_a_traceback(folder, desk, monkeypatch, name, parameter):
    if name == "serve":
        uvicorn = pytest.importorskip("uvicorn")
        monkeypatch.setattr(
            uvicorn.Server, "run", lambda self, sockets: [each.close() for each in sockets]
        )
    if name in ("release", "series release"):
        pytest.importorskip("ibis")
    before = state(desk)
    for what, value in ODD.items():
        done = CliRunner().invoke(
            main, call(name, parameter, value), prog_name="leastnoise", input="1\n"
        )
        said = f"{name} {parameter.name} = {what}: {done.output[:500]!r} {done.exception!r}"
        assert done.exception is None or isinstance(done.exception, SystemExit), said
        assert done.exit_code in ((0, 1, 2) if name in CHECKS else (0, 2)), said
        assert not PYTHON.search(done.stderr), said
        if done.exit_code == 2:
            assert done.stdout == "", said
            assert done.stderr.startswith("leastnoise: "), said
            assert done.stderr.count("\n") == 1, said
            assert "Errno" not in done.stderr, said
            assert len(done.stderr) < 700, said
            assert state(desk) == before, said
        else:
            again(folder, desk)
        assert Path("socket").is_socket(), said


@pytest.mark.parametrize(
    "key",
    [
        "epsilon",
        "delta",
        "max_rows",
        "lower",
        "upper",
        "pitch",
        "missing",
        "public_n",
        "weight",
        "sigma",
        "edges",
    ],
)
@pytest.mark.parametrize(
    "value",
    [
        "1e400",
        "-1e400",
        "9" * 5000,
        "9" * 4000,
        "9" * 400,
        "nan",
        "inf",
        "0",
        "-1",
        "true",
        '""',
        "[]",
    ],
)
def test_odd_numbers_in_a_plan_are_one_sentence(desk, key, value):
    if key in ("epsilon", "delta", "max_rows"):
        text = re.sub(rf"^{key} = .*\n", "", PLAN, flags=re.MULTILINE)
        text = f"{key} = {value}\n{text}"
    elif key == "edges":
        text = (
            PLAN
            + f'\n[[statistic]]\nkind = "histogram"\ngroup_by = {{ age = {{ edges = [0, {value}] '
            f"}} }}\n"
        )
    else:
        text = re.sub(rf"^{key} = .*\n", "", PLAN, flags=re.MULTILINE) + f"{key} = {value}\n"
    Path("plan.toml").write_text(text)
    done = CliRunner().invoke(main, ["release", "plan.toml", "--preview"], prog_name="leastnoise")
    assert done.exit_code in (0, 2), done.output[:500]
    assert isinstance(done.exception, SystemExit) or done.exception is None
    assert not PYTHON.search(done.stderr), done.stderr[:500]
    if done.exit_code == 2:
        assert done.stderr.count("\n") == 1
        assert len(done.stderr) < 700


@pytest.mark.parametrize(
    "field",
    [
        "compositions",
        "sensitivity",
        "epsilon",
        "delta",
        "step",
        "batch",
        "bits",
        "first",
        "variance",
        "accuracy",
    ],
)
@pytest.mark.parametrize(
    "value",
    [
        "1e400",
        "9" * 5000,
        "9" * 4000,
        "9" * 400,
        "9" * 300,
        "-1",
        "0",
        "null",
        "true",
        '"x"',
        "[]",
        "NaN",
    ],
)
@pytest.mark.parametrize(
    "command", ["verify", "sample", "perturb", "account --delta 1e-6", "ledger spend"]
)
def test_odd_numbers_in_an_artefact_are_one_sentence(desk, field, value, command):
    text = Path("noise.json").read_text()
    changed = re.sub(rf'("{field}": )[^,\n]+', rf"\g<1>{value}", text, count=1)
    if changed == text:
        return  # the law begins at shell 0
    Path("noise.json").write_text(changed)
    line = {
        "ledger spend": "ledger spend budget.ledger patients noise.json --plan x",
        "perturb": "perturb noise.json answers.txt",
    }
    words = line.get(command, command.split()[0] + " noise.json " + " ".join(command.split()[1:]))
    done = CliRunner().invoke(main, words.split(), prog_name="leastnoise")
    assert isinstance(done.exception, SystemExit), done.output[:500]
    assert done.exit_code in ((1, 2) if command == "verify" else (2,)), done.output[:500]
    assert not PYTHON.search(done.stderr), done.stderr[:500]
    assert done.stderr.count("\n") <= 1
    assert len(done.stderr) < 700


@pytest.mark.parametrize(
    "words",
    [
        "",
        "fig99",
        "fig2 --quick --processes 0",
        "fig2 --quick --processes -1",
        "fig2 --quick --processes nan",
        "fig2 --quick --processes " + "9" * 5000,
        "fig2 --quick --processes 1 --out noise.json",
        "fig2 --quick --processes 1 --out noise.json/x",
        "fig2 --quick --processes 1 --out -",
        "fig2 --draw-only --out folder",
    ],
    ids=lambda words: words[:40] or "nothing",
)
def test_odd_values_of_reproduce(desk, words):
    before = state(desk)
    done = CliRunner().invoke(main, ["reproduce", *words.split()], prog_name="leastnoise")
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert done.stderr.startswith("leastnoise")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 700
    assert not PYTHON.search(done.stderr), done.stderr
    assert state(desk) == before
    assert "-" not in os.listdir()
