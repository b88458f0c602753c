"""What one person can change, on the command line: said with options, printed with the guarantee,
kept in files, and never exchanged for another space without a word."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from leastnoise import Box, Euclidean, Ledger, OneSided, PrivacyLoss, cube, design
from leastnoise.artefact import read_artefact, verify
from leastnoise.cli import main
from leastnoise.laws.lifted import LiftedNoise

ONE_WAY = "all up or all down; only where persons are added or removed"
LENGTH = "by a vector of length at most 2 sensitivities"
SOME = "at most 30 of the 60 answers up or down"
# For each space: the options, the space, the kind of law that serves it best, the condition.
SPACES = {
    "real range": (["--batch", "10", "--changes", "one-sided"], OneSided(), "norm", ONE_WAY),
    "correlated": (
        ["--batch", "40", "--changes", "one-sided"],
        OneSided(),
        "correlated",
        ONE_WAY,
    ),
    "range": (
        ["--batch", "10", "--changes", "one-sided", "--domain", "integer"],
        OneSided(),
        "norm",
        ONE_WAY,
    ),
    "whole": (
        ["--batch", "40", "--changes", "one-sided", "--domain", "integer"],
        OneSided(),
        "correlated",
        ONE_WAY,
    ),
    "length": (["--batch", "20", "--radius", "2"], Euclidean(2.0), "ball", LENGTH),
    "touched": (["--batch", "60", "--touched", "30"], Box(30), "ball", SOME),
}


def run(*arguments: object, typed: str = ""):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=typed)


def printed(*arguments: object, typed: str = "") -> dict:
    done = run(*arguments, "--json", typed=typed)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refused(result, *words: str) -> None:
    """One sentence, exit 2, nothing on standard output."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("leastnoise: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """An artefact for each space, one for the box, and a bare law for one-sided changes."""
    folder = tmp_path_factory.mktemp("spaces")
    for name, (options, *_) in SPACES.items():
        done = run(
            "design", "--delta", "1e-6", "--sigma", "8", *options, "--out", f"{folder / name}.json"
        )
        assert done.exit_code == 0, done.output
    done = run(
        "design", "--delta", "1e-6", "--sigma", "8", "--batch", "10", "--out", folder / "box.json"
    )
    assert done.exit_code == 0, done.output
    LiftedNoise(cube(8.0, 11)).save(folder / "bare.json")
    return folder


@pytest.fixture
def book(tmp_path) -> Path:
    path = tmp_path / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("clinic", epsilon=5.0, delta=1e-4)
    return path


@pytest.mark.parametrize("name", SPACES)
def test_a_design_says_its_condition_and_its_file_keeps_it(files, name):
    options, space, kind, condition = SPACES[name]
    path = files / f"{name}.json"
    asked = ("design", "--delta", "1e-6", "--sigma", "8", *options)
    assert printed(*asked)["changes"] == space.describe()
    summary = run(*asked).stdout
    assert f"  condition   one person moves {condition}" in summary or condition in summary
    artefact = read_artefact(path)
    assert artefact.noise.kind == kind
    assert artefact.guarantee.changes == space
    loss = PrivacyLoss.of(artefact.noise, 1.0, space)
    assert artefact.guarantee.epsilon == loss.epsilon(1e-6)
    assert printed(*asked)["epsilon"] == pytest.approx(artefact.guarantee.epsilon, rel=1e-5)


@pytest.mark.parametrize("name", SPACES)
def test_a_file_is_verified_and_judged_for_its_own_space(files, name):
    _, space, _, condition = SPACES[name]
    path = files / f"{name}.json"
    stated = read_artefact(path).guarantee
    done = run("verify", path)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-2].startswith("if          one person moves ")
    assert condition in done.stdout
    assert printed("verify", path)["changes"] == space.describe()
    found = printed("account", path, "--delta", "1e-6")
    assert (found["epsilon"], found["changes"]) == (stated.epsilon, space.describe())
    assert condition in run("account", path, "--delta", "1e-6").stdout
    assert run("sample", path).exit_code == 0


def test_the_box_is_no_condition(files):
    for asked in (("verify",), ("account", "--delta", "1e-6")):
        done = run(*asked, files / "box.json")
        assert done.exit_code == 0
        assert "if " not in done.stdout
    assert "changes" not in json.loads((files / "box.json").read_text())["content"]["guarantee"]
    assert printed("verify", files / "box.json")["changes"] == Box().describe()


def test_a_law_is_judged_for_another_space_only_if_that_is_said(files):
    stated = read_artefact(files / "correlated.json").guarantee
    wider = printed("account", files / "correlated.json", "--delta", "1e-6", "--changes", "box")
    assert wider["epsilon"] > 1.5 * stated.epsilon
    assert wider["changes"] == Box().describe()
    longer = printed("account", files / "length.json", "--delta", "1e-6", "--radius", 3)
    assert longer["epsilon"] > read_artefact(files / "length.json").guarantee.epsilon
    for option in (("--changes", "box"), ("--radius", 2), ("--touched", 2)):
        refused(
            run("account", files / "real range.json", "--delta", "1e-6", *option),
            "all up or all down: judge it for these, as its artefact does",
        )
    asked = "account", files / "box.json", "--delta", "1e-6"
    twice = printed(*asked, "--radius", 2)["epsilon"]  # the box of that length
    assert twice == printed(*asked, "--sensitivity", 2)["epsilon"]


def test_the_cut_cube_is_judged_by_its_name():
    asked = "account", "cut-cube", "--sigma", "8", "--batch", "50", "--delta", "1e-6"
    assert printed(*asked)["epsilon"] == pytest.approx(3.5572, rel=1e-4)
    assert "1 draw of 50 answers," in run(*asked).stdout
    refused(run(*asked[:5], "5", *asked[6:]), "--batch 5 to be from 28 to 120")


def test_what_is_known_from_below_is_said_where_something_is():
    asked = "design", "--delta", "1e-6", "--sigma", "8", "--batch", "2"
    assert "(exact value above 0." in run(*asked).stdout
    one_way = run(*asked, "--changes", "one-sided", "--ranges", "0:1,-0.5:1").stdout
    assert "guarantee   epsilon = " in one_way
    assert "exact value" not in one_way
    law = "account", "sphere", "--sigma", "8", "--batch", "4", "--delta", "1e-6"
    assert "exact value" not in run(*law, "--radius", "2").stdout


def test_a_bare_law_for_one_sided_changes_is_refused_where_nobody_says_so(files, book):
    refused(run("account", files / "bare.json", "--delta", "1e-6"), "all up or all down")
    refused(
        run("ledger", "spend", book, "clinic", files / "bare.json", "--plan", "x"),
        "all up or all down",
    )
    said = printed("account", files / "bare.json", "--delta", "1e-6", "--changes", "one-sided")
    assert said["epsilon"] == PrivacyLoss.of(cube(8.0, 11)).epsilon(1e-6)


def test_a_law_for_one_answer_has_no_space_to_state():
    asked = ("account", "laplace", "--sigma", "8", "--batch", "4", "--delta", "1e-6")
    for option in (("--changes", "one-sided"), ("--radius", 2), ("--touched", 2)):
        refused(run(*asked, *option), "to be left out: one draw of the law serves one answer")
    plain = printed(*asked)
    assert printed(*asked, "--changes", "box") == plain
    assert plain["changes"] == Box().describe()


def test_touched_answers_of_a_joint_draw_are_said_by_the_artefact(files):
    sixty = "7\n" * 60
    refused(
        run("perturb", files / "touched.json", "--touched", 30, typed=sixty),
        "--touched 30 to be left out: the artefact states it",
    )
    done = run("perturb", files / "touched.json", typed=sixty)
    assert done.exit_code == 0
    assert f"Condition: one person moves {SOME}." in done.stderr


def test_a_comparison_is_for_the_space_that_is_asked_for():
    asked = ("compare", "--delta", "1e-6", "--sigma", "8", "--batch", "10")
    found = printed(*asked, "--changes", "one-sided")
    assert found["changes"] == OneSided().describe()
    names = {law["name"] for law in found["laws"]}
    assert {"lifted cube", "correlated sphere", "correlated Gaussian", "Gaussian"} <= names
    assert found["epsilon"] < 0.8 * printed(*asked)["epsilon"]
    assert (
        f"if one person moves each of the 10 answers, {ONE_WAY}"
        in run(*asked, "--changes", "one-sided").stdout
    )
    assert printed(*asked, "--radius", "2")["changes"] == Euclidean(2.0).describe()
    ranges = ((0.0, 1.0), (-0.5, 1.0), (-1.0, 1.0))
    three = ("compare", "--delta", "1e-6", "--sigma", "8", "--batch", "3")
    unequal = "--changes", "one-sided", "--ranges", "0:1,-0.5:1,-1:1"
    found = printed(*three, *unequal, "--weights", "1,1,4")
    assert found["changes"] == OneSided(ranges=ranges).describe()
    space = OneSided(ranges=ranges)
    best = design(delta=1e-6, sigma=8.0, batch=3, changes=space, weights=[1, 1, 4])
    assert found["epsilon"] == best.epsilon
    assert "each within its range" in run(*three, *unequal).stdout
    some = printed(*asked, "--touched", "2")
    best = design(delta=1e-6, sigma=8.0, batch=10, touched=2)
    assert some["epsilon"] == best.epsilon


@pytest.mark.parametrize(
    ("name", "answers"), [("real range", 10), ("range", 10), ("whole", 40), ("length", 20)]
)
def test_perturb_says_the_condition_and_the_ledger_keeps_it(files, book, name, answers):
    _, space, _, condition = SPACES[name]
    path = files / f"{name}.json"
    table = "7\n" * answers
    done = run("perturb", path, "--ledger", book, "--dataset", "clinic", typed=table)
    assert done.exit_code == 0, done.output
    assert condition in done.stderr
    assert printed("perturb", path, typed=table)["changes"] == space.describe()
    with Ledger(book) as ledger:
        ((draw,), account) = ledger.entries()[0].draws, ledger.dataset("clinic")
        assert draw.changes == space
        assert account.unit.relation == ("add/remove" if space.is_one_sided else "")
        assert account.epsilon_if_fixed == pytest.approx(
            PrivacyLoss.of(read_artefact(path).noise, 1.0, space).epsilon(1e-4)
        )
        assert ledger.check().ok
    shown = printed("ledger", "show", book)["releases"][0]["draws"][0]
    assert shown["changes"] == space.describe()
    assert f"{space.kind} changes" in run("ledger", "show", book).stdout
    exported = json.loads(run("ledger", "export", book).stdout)["entries"][0]["draws"][0]
    assert exported == shown


def test_a_one_sided_law_is_not_spent_for_persons_who_are_replaced(files, book):
    ten, path = "7\n" * 10, files / "real range.json"
    paid = ("--ledger", book, "--dataset", "clinic", "--relation", "replace")
    refused(run("perturb", path, *paid, typed=ten), "--relation replace to be add/remove")
    spend = ("ledger", "spend", book, "clinic", path, "--plan", "x")
    refused(run(*spend, "--relation", "replace"), "--relation replace to be add/remove")
    with Ledger(book) as ledger:
        assert ledger.entries() == ()
    preview = run(*spend, "--preview")
    assert preview.exit_code == 0
    assert f"only if one person moves each of the 10 answers, {ONE_WAY}" in preview.stdout
    assert printed(*spend, "--preview")["changes"] == OneSided().describe()
    done = run(*spend)
    assert done.exit_code == 0
    assert ONE_WAY in done.stdout
    box = ("ledger", "spend", book, "clinic", files / "box.json", "--plan", "y")
    later = run(*box, "--relation", "replace")
    assert later.exit_code == 2
    assert "'add/remove'" in later.stderr
    refused(run("ledger", "spend", book, "nobody", path, "--plan", "x"), "nobody")


def test_a_one_sided_law_is_refused_where_persons_are_replaced_already(files, book):
    box = ("ledger", "spend", book, "clinic", files / "box.json", "--plan", "y")
    assert run(*box, "--relation", "replace").exit_code == 0
    spend = ("ledger", "spend", book, "clinic", files / "real range.json", "--plan", "x")
    later = run(*spend)
    assert later.exit_code == 2
    assert "do not add up" in later.stderr
    preview = run(*spend, "--preview")
    assert preview.exit_code == 1
    assert "REFUSED" in preview.stdout
    paid = ("--ledger", book, "--dataset", "clinic")
    done = run("perturb", files / "real range.json", *paid, typed="7\n" * 10)
    assert done.exit_code == 2
    assert done.stdout == ""


# Files that were edited


def edited(path: Path, target: Path, changes: object, *, sealed: bool, **guarantee: object) -> Path:
    """The file with another space, None for none; `sealed`: its SHA-256 put right too."""
    file = json.loads(path.read_text())
    stated = file["content"]["guarantee"]
    stated |= guarantee
    stated.pop("changes", None)
    if changes is not None:
        stated["changes"] = changes
    if sealed:
        canonical = json.dumps(file["content"], sort_keys=True, separators=(",", ":"))
        file["sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    target.write_text(json.dumps(file))
    return target


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("box", OneSided().describe()),
        ("box", Box(2).describe()),
        ("touched", Box(5).describe()),
        ("touched", None),
        ("real range", None),
        ("correlated", OneSided(3).describe()),
        ("length", Euclidean(1.0).describe()),
    ],
)
def test_an_edited_space_is_noticed(files, tmp_path, name, changes):
    path = edited(files / f"{name}.json", tmp_path / "noise.json", changes, sealed=False)
    done = run("verify", path)
    assert done.exit_code == 1
    assert "does not match its SHA-256" in done.stdout
    assert done.stdout.splitlines()[-1] == "NOT VERIFIED"
    refused(run("perturb", path, typed="1\n" * 10))
    refused(run("account", path, "--delta", "1e-6"), "SHA-256")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("touched", Box(5).describe()),  # less is touched: ε would be less than is stated
        ("touched", None),  # the whole box needs more than is stated
        ("correlated", Box().describe()),
        ("correlated", OneSided(3).describe()),
        ("length", Euclidean(1.0).describe()),
        ("length", Euclidean(4.0).describe()),
        ("real range", None),
        ("real range", Box(2).describe()),
        ("real range", Euclidean(0.1).describe()),
        ("real range", {"kind": "one-sided", "ranges": [[-1, 1]] * 10}),
        ("range", None),
        ("range", Euclidean(0.1).describe()),
        ("box", Euclidean(0.1).describe()),
    ],
)
def test_a_forged_space_is_judged_and_does_not_hold_what_the_file_states(
    files, tmp_path, name, changes
):
    path = edited(files / f"{name}.json", tmp_path / "noise.json", changes, sealed=True)
    assert not verify(path).ok
    assert run("verify", path).exit_code == 1
    refused(run("perturb", path, typed="1\n" * 10), "does not hold what it states")


def test_a_smaller_space_at_its_own_epsilon_holds(files, tmp_path):
    """The corner of the box is one-sided, so the cube needs the same for both: the forged file is
    true, and says more of a condition than it need."""
    changes = OneSided().describe()
    path = edited(files / "box.json", tmp_path / "noise.json", changes, sealed=True)
    assert verify(path).ok
    assert ONE_WAY in run("verify", path).stdout
    # And the numbers that belong to a space belong to no other, whoever seals them.
    epsilon = PrivacyLoss.of(read_artefact(files / "touched.json").noise, 1.0, Box(5)).epsilon(1e-6)
    lowered = edited(
        files / "touched.json",
        tmp_path / "low.json",
        Box(5).describe(),
        sealed=True,
        epsilon=epsilon,
    )
    assert verify(lowered).ok
    assert "at most 5 of the 60 answers" in run("verify", lowered).stdout
    alone = edited(
        files / "touched.json", tmp_path / "low.json", None, sealed=True, epsilon=epsilon
    )
    assert not verify(alone).ok


@pytest.mark.parametrize(
    "changes",
    [
        5,
        "one-sided",
        [],
        {},
        {"kind": "ball"},
        {"kind": ["box"]},
        {"kind": "box", "touched": 0},
        {"kind": "box", "touched": 2.5},
        {"kind": "box", "touched": True},
        {"kind": "box", "radius": 1},
        {"kind": "one-sided", "ranges": 3},
        {"kind": "one-sided", "ranges": [[0, 1]]},
        {"kind": "one-sided", "ranges": [[0, 1, 2]] * 10},
        {"kind": "one-sided", "ranges": [["a", "b"]] * 10},
        {"kind": "one-sided", "ranges": [[0, 2]] * 10},
        {"kind": "euclidean"},
        {"kind": "euclidean", "radius": -1},
        {"kind": "euclidean", "radius": "2"},
        {"kind": "euclidean", "radius": 1e400},
    ],
    ids=str,
)
def test_a_space_that_is_none_is_one_sentence(files, tmp_path, book, changes):
    path = edited(files / "real range.json", tmp_path / "noise.json", changes, sealed=True)
    for asked in (
        ("account", path, "--delta", "1e-6"),
        ("perturb", path),
        ("ledger", "spend", book, "clinic", path, "--plan", "x"),
    ):
        refused(run(*asked, typed="1\n" * 10))
    found = run("verify", path)
    assert found.exit_code in (1, 2)
    assert "Traceback" not in found.output
    with Ledger(book) as ledger:
        assert ledger.entries() == ()


# Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--changes", "one-sided"], "--changes one-sided to come with --batch"),
        (["--radius", "2"], "--radius 2.0 to come with --batch"),
        (["--batch", "4", "--radius", "2", "--changes", "box"], "to stand without --changes"),
        (["--batch", "4", "--radius", "2", "--touched", "2"], "to stand without --touched"),
        (["--batch", "4", "--radius", "0"], "--radius"),
        (["--batch", "4", "--radius", "-1"], "--radius"),
        (["--batch", "4", "--radius", "inf"], "--radius"),
        (["--batch", "4", "--radius", "nan"], "--radius"),
        (["--batch", "4", "--touched", "0"], "--touched"),
        (["--batch", "4", "--touched", "5"], "to be at most --batch 4"),
        (["--batch", "4", "--changes", "one-sided", "--touched", "-2"], "--touched"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("command", ["design", "compare"])
def test_what_cannot_be_meant_is_refused(command, options, words):
    refused(run(command, "--delta", "1e-6", "--sigma", "8", *options), words)


@pytest.mark.parametrize("options", [["--changes", "one-sided"], ["--radius", "2"]])
def test_the_renyi_objective_is_for_the_box(options):
    asked = ("design", "--delta", "1e-6", "--sigma", "8", "--batch", "4", "--objective", "renyi")
    refused(run(*asked, *options), "--objective renyi to be tight with --")


@pytest.mark.parametrize("word", ["", "sphere", "onesided", "ONE-SIDED", "ä", "\x1b[31m"])
def test_an_unknown_space_is_refused(word):
    asked = ("design", "--delta", "1e-6", "--sigma", "8", "--batch", "4", "--changes", word)
    done = run(*asked)
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert "\x1b" not in done.output


def test_some_answers_all_the_same_way():
    """Independent noise is best, which needs no condition but how many are touched."""
    options = ("--batch", "100", "--changes", "one-sided", "--touched", "2")
    found = printed("design", "--delta", "1e-6", "--sigma", "8", *options)
    assert found["changes"] == OneSided(2).describe()
    assert found["uses"] == 2
    assert found["epsilon"] == design(delta=1e-6, sigma=8.0, batch=100, touched=2).epsilon


def test_ranges_judged_as_a_box_are_still_those_of_persons_added_or_removed(tmp_path: Path, book):
    """Two persons in [-1, 1] who are exchanged move an answer by 2, twice what was judged."""
    law, paid = tmp_path / "noise.json", ("--ledger", book, "--dataset", "clinic")
    two_way = [*UNEQUAL, "--changes", "one-sided", "--ranges=-1:1,-1:1,-1:1"]
    assert run(*two_way, "--out", law).exit_code == 0
    replaced = run("perturb", law, *paid, "--relation", "replace", typed="1,2,3\n")
    refused(replaced, "--relation replace to be add/remove")
    spent = ["ledger", "spend", book, "clinic", law, "--plan", "x", "--relation", "replace"]
    refused(run(*spent), "add/remove")
    assert run("perturb", law, *paid, typed="1,2,3\n").exit_code == 0
    with Ledger(book) as ledger:
        assert ledger.dataset("clinic").unit.relation == "add/remove"


UNEQUAL = ["design", "--delta", "1e-6", "--sigma", "5", "--batch", "3"]


def test_unequal_ranges_and_weights_are_said_with_options(tmp_path: Path):
    law = tmp_path / "noise.json"
    one_sided = [*UNEQUAL, "--changes", "one-sided", "--ranges", "0:1,0:0.5,-0.5:1"]
    space = OneSided(ranges=((0.0, 1.0), (0.0, 0.5), (-0.5, 1.0)))
    told = printed(*one_sided, "--out", law)
    best = design(delta=1e-6, sigma=5.0, batch=3, changes=space)
    assert told["epsilon"] == best.epsilon
    assert told["scales"] == list(best.scales)
    assert told["sigmas"] == list(best.sigmas)
    assert told["changes"] == space.describe()
    assert verify(law).ok
    refused(run("perturb", law, typed="1,2,3\n"), "--scaled", "divide each answer")
    assert run("perturb", law, "--scaled", typed="1,2,3\n").exit_code == 0
    weighted = printed(*UNEQUAL, "--weights", "1,1,4")
    assert weighted["weights"] == [1.0, 1.0, 4.0]
    plain = tmp_path / "plain.json"
    assert run(*UNEQUAL, "--out", plain).exit_code == 0
    refused(run("perturb", plain, "--scaled", typed="1,2,3\n"), "--scaled", "no scales")


def test_odd_ranges_and_weights_are_refused():
    refused(run(*UNEQUAL, "--ranges", "0:1,0:1,0:1"), "--ranges", "--changes one-sided")
    for ranges in ("0:1", "0:1,0:1,0", "0:1,0:1,a:b"):
        asked = ["--changes", "one-sided", "--ranges", ranges]
        refused(run(*UNEQUAL, *asked), "--ranges", "FROM:TO")
    refused(run(*UNEQUAL, "--weights", "1,1,x"), "--weights", "one number")
