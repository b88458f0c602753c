"""The artefact: the guarantee follows from the weights, and every edit is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise import (
    AccountingError,
    InvalidFileError,
    InvalidParameterError,
    LatticeNoise,
    PrivacyLoss,
    UnsupportedError,
    cube,
    discrete_gaussian,
    generalized_gaussian,
    sphere,
)
from leastnoise.artefact import certify, read_artefact, verify, write_artefact
from leastnoise.artefact.exact import exact
from leastnoise.lattice.steps import exact_step

LAW = exact(discrete_gaussian(3.0), delta=1e-6, compositions=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "noise.json"
    artefact = certify(
        LAW,
        delta=1e-6,
        compositions=2,
        rivals={"gaussian": 2.5, "laplace": 2.75},
        problem={"sigma": 3.0},
    )
    write_artefact(artefact, file)
    return file


def edit(path: Path, change: Callable[[dict[str, Any]], None], *, resign: bool) -> None:
    """Change the content; with `resign` also put the SHA-256 right, as a forger would."""
    file = json.loads(path.read_text())
    change(file["content"])
    if resign:
        canonical = json.dumps(file["content"], sort_keys=True, separators=(",", ":"))
        file["sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    path.write_text(json.dumps(file))


@pytest.mark.parametrize(
    ("law", "sensitivity", "compositions"),
    [
        (LAW, 1.0, 2),
        (
            exact(
                generalized_gaussian(8.0, 1.5, sensitivity=1 / 3),
                delta=1e-6,
                sensitivity=1 / 3,
                compositions=10,
            ),
            1 / 3,
            10,
        ),
        (exact(cube(8.0, 10), delta=1e-6), 1.0, 1),
        (exact(cube(8.0, 100), delta=1e-6, bits=128), 1.0, 1),
    ],
    ids=repr,
)
def test_what_is_written_is_read_and_verified(
    law: LatticeNoise, sensitivity: float, compositions: int, tmp_path: Path
) -> None:
    file = tmp_path / "noise.json"
    artefact = certify(
        law,
        delta=1e-6,
        compositions=compositions,
        sensitivity=sensitivity,
        rivals={"gaussian": 3.0},
    )
    write_artefact(artefact, file)
    back = read_artefact(file)
    assert back == artefact
    assert back.noise == law
    result = verify(file)
    assert result.ok
    assert result.mismatches == ()
    assert result.recomputed == result.stated == artefact.guarantee
    assert artefact.guarantee.epsilon == PrivacyLoss.of(law, sensitivity).compose(
        compositions
    ).epsilon(1e-6)


def test_the_hash_is_of_the_documented_canonical_form(path: Path) -> None:
    file = json.loads(path.read_text())
    canonical = json.dumps(file["content"], sort_keys=True, separators=(",", ":"))
    assert file["sha256"] == hashlib.sha256(canonical.encode("ascii")).hexdigest()
    assert (
        sum(int(weight, 16) for weight in file["content"]["law"]["weights"])
        == 2 ** file["content"]["law"]["bits"]
    )


def test_every_single_edit_is_noticed(path: Path) -> None:
    whole = path.read_text()

    def leaves(node: Any, trail: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if not isinstance(node, (dict, list)):
            return [trail]
        items = node.items() if isinstance(node, dict) else enumerate(node)
        return [leaf for key, part in items for leaf in leaves(part, (*trail, key))]

    trails = leaves(json.loads(whole)["content"], ())
    assert len(trails) > 30
    for trail in trails:
        file = json.loads(whole)
        node = file["content"]
        for key in trail[:-1]:
            node = node[key]
        value = node[trail[-1]]
        node[trail[-1]] = (
            value + 1
            if isinstance(value, int)
            else value * 1.001 + 1e-30
            if isinstance(value, float)
            else "1" + value
        )
        path.write_text(json.dumps(file))
        with pytest.raises(InvalidFileError):
            read_artefact(path)
        try:
            assert not verify(path).ok
        except InvalidFileError as error:
            assert "SHA-256" in str(error)  # noqa: PT017


def test_every_truncation_is_noticed(path: Path) -> None:
    whole = path.read_text()
    for length in range(0, len(whole) - 2, 97):
        path.write_text(whole[:length])
        with pytest.raises(InvalidFileError):
            verify(path)


def test_a_mutated_weight_is_noticed_even_when_the_hash_is_put_right(path: Path) -> None:
    def heavier(content: dict[str, Any]) -> None:
        weights = content["law"]["weights"]
        weights[2] = f"{int(weights[2], 16) + 2:x}"

    edit(path, heavier, resign=True)
    with pytest.raises(InvalidFileError, match="sum to"):
        verify(path)


def test_moved_weight_changes_the_recomputed_epsilon(path: Path) -> None:
    def moved(content: dict[str, Any]) -> None:
        weights = content["law"]["weights"]
        amount = int(weights[9], 16) // 100 // 2**20 * 2**20
        weights[9], weights[1] = (
            f"{int(weights[9], 16) - amount:x}",
            f"{int(weights[1], 16) + amount:x}",
        )

    edit(path, moved, resign=True)
    result = verify(path)
    assert not result.ok
    assert any("epsilon" in mismatch for mismatch in result.mismatches)
    assert any("variance" in mismatch for mismatch in result.mismatches)


def test_swapped_weights_are_noticed(path: Path) -> None:
    def swapped(content: dict[str, Any]) -> None:
        weights = content["law"]["weights"]
        weights[4], weights[5] = weights[5], weights[4]

    edit(path, swapped, resign=True)
    result = verify(path)
    assert any("epsilon" in mismatch for mismatch in result.mismatches)


@pytest.mark.parametrize(
    ("part", "field", "value", "named"),
    [
        ("guarantee", "epsilon", 0.5, "epsilon"),
        ("guarantee", "epsilon", 50.0, "epsilon"),
        ("guarantee", "delta", 1e-7, "epsilon"),
        ("guarantee", "compositions", 3, "epsilon"),
        ("guarantee", "sensitivity", 2.0, "epsilon"),
        ("charges", "unbounded", 0.0, "unbounded"),
        ("charges", "deviation", 1e-9, "deviation"),
        ("law", "pitch", "1/2", "pitch"),
        ("law", "batch", 2, "epsilon"),
    ],
)
def test_a_false_statement_is_noticed_when_the_hash_is_right(
    path: Path, part: str, field: str, value: Any, named: str
) -> None:
    edit(path, lambda content: content[part].update({field: value}), resign=True)
    result = verify(path)
    assert not result.ok
    assert any(named in mismatch for mismatch in result.mismatches)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["law"].update(bits=96),
        lambda content: content["law"].update(first=-1),
        lambda content: content["law"].update(first=10**12),
        lambda content: content["law"].update(weights=["1" + "0" * 16]),
        lambda content: content["law"]["weights"].append(5),
        lambda content: content["law"]["weights"].append("-1"),
        lambda content: content["law"].update(domain="complex"),
        lambda content: content["law"].update(extra=1),
        lambda content: content.pop("charges"),
        lambda content: content.update(guarantee=None),
        lambda content: content["guarantee"].update(delta=2.0),
        lambda content: content["guarantee"].update(compositions=True),
        lambda content: content["accountant"].update(name="trust me"),
    ],
)
def test_what_is_no_artefact_is_refused(
    path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    before = path.read_text()
    edit(path, change, resign=True)
    if json.loads(path.read_text())["content"]["law"]["weights"] == ["1" + "0" * 16]:
        assert verify(path).ok is False  # no noise at all is a law, but not with this guarantee
        return
    with pytest.raises(InvalidFileError):
        verify(path)
    assert before != path.read_text()


def test_files_that_are_not_ours(tmp_path: Path) -> None:
    for name, text in {
        "nothing": "",
        "number": "3",
        "other": '{"format": "leastnoise.noise"}',
        "newer": '{"format": "leastnoise.artefact", "version": 2}',
        "true": '{"format": "leastnoise.artefact", "version": true}',
        "nan": '{"format": NaN}',
        "twice": '{"format": "leastnoise.artefact", "format": "leastnoise.artefact"}',
        "fields": '{"format": "leastnoise.artefact", "version": 1, "sha256": "", "content": {}, '
        '"more": 1}',
        "deep": "[" * 100_000,
    }.items():
        file = tmp_path / name
        file.write_text(text)
        with pytest.raises(InvalidFileError):
            verify(file)
    with pytest.raises(InvalidFileError, match="Cannot read"):
        verify(tmp_path / "missing")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidFileError):
        verify(tmp_path / "bytes")


def test_a_use_beyond_the_stated_one_is_judged_anew(path: Path) -> None:
    artefact = read_artefact(path)
    assert artefact.guarantee_for(2) == artefact.guarantee
    more = artefact.guarantee_for(5)
    assert more.compositions == 5
    assert more.epsilon == PrivacyLoss.of(LAW, 1.0).compose(5).epsilon(1e-6)
    assert more.epsilon > artefact.guarantee.epsilon
    stricter = artefact.guarantee_for(2, delta=1e-8)
    assert stricter.delta == 1e-8
    assert stricter.epsilon > artefact.guarantee.epsilon


def test_only_laws_with_integer_weights_and_finite_epsilon_are_certified() -> None:
    with pytest.raises(UnsupportedError, match="integer weights"):
        certify(discrete_gaussian(3.0), delta=1e-6)
    with pytest.raises(AccountingError, match="no finite epsilon"):
        certify(LatticeNoise([0.5, 0.5], None, domain="integer"), delta=1e-6)
    with pytest.raises(InvalidParameterError, match="problem"):
        certify(LAW, delta=1e-6, problem={"law": LAW})
    with pytest.raises(InvalidParameterError, match="rivals"):
        certify(LAW, delta=1e-6, rivals={"gaussian": float("nan")})


def test_steps_span_the_sensitivity_or_are_refused() -> None:
    """A step a little below 1/3 stands for one a little above; one that is 1e-6 short does not."""
    short = LatticeNoise(LAW.shell_masses, None, step=float(np.nextafter(1 / 3, 0.0)))
    assert certify(short, delta=1e-6, sensitivity=1.0).guarantee.sensitivity == 1.0
    assert 3 * exact_step(short.step) >= 1
    with pytest.raises(InvalidParameterError, match="a whole number of times"):
        certify(
            LatticeNoise(LAW.shell_masses, None, step=(1 - 1e-6) / 3), delta=1e-6, sensitivity=1.0
        )


@pytest.fixture
def ball(tmp_path: Path) -> Path:
    file = tmp_path / "ball.json"
    write_artefact(
        certify(sphere(8.0, 60), delta=1e-6, compositions=2, problem={"sigma": 8.0}), file
    )
    return file


def test_the_sphere_is_written_read_and_verified(ball: Path) -> None:
    artefact = read_artefact(ball)
    assert artefact.noise == sphere(8.0, 60)
    assert artefact.guarantee.epsilon == PrivacyLoss.of(sphere(8.0, 60), 1.0).compose(2).epsilon(
        1e-6
    )
    found = verify(ball)
    assert found.ok
    assert found.recomputed == artefact.guarantee
    assert artefact.noise.release(np.zeros((3, 60))).shape == (3, 60)


@pytest.mark.parametrize("resign", [False, True])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scale", 0.5),
        ("batch", 59),
        ("step", 2.0),
        ("pitch", "1/7"),
        ("body", "cube"),
        ("scale", -1.0),
    ],
)
def test_an_edited_sphere_is_noticed(ball: Path, field: str, value: Any, resign: bool) -> None:
    edit(ball, lambda content: content["law"].update({field: value}), resign=resign)
    try:
        assert not verify(ball).ok
    except InvalidFileError:
        assert field in ("body", "scale")


def test_a_sphere_serves_any_sensitivity_in_whole_pitches() -> None:
    law = sphere(8.0, 60, step=0.125)
    below, at = (
        certify(law, delta=1e-6, sensitivity=s).guarantee.epsilon for s in (1.0 - 2.0**-20, 1.0)
    )
    assert below == at
    assert certify(law, delta=1e-6, sensitivity=1.0 - 2.0**-19).guarantee.epsilon < at


def test_an_artefact_with_unseen_characters_is_refused():
    from leastnoise.artefact.format import artefact_from

    with pytest.raises(InvalidFileError, match="unseen character"):
        artefact_from({"problem": {"name": "cli\u202enic"}}, "noise.json")
