"""The JSON Schemas describe what is really written, and refuse what is not."""

import copy
import json

import pytest

from leastnoise import (
    Box,
    Euclidean,
    OneSided,
    correlated,
    cube,
    design,
    discrete_laplace,
    exact,
    gaussian,
    laplace,
    sphere,
    staircase,
)
from leastnoise.artefact import certify, write_artefact
from leastnoise.errors import InvalidParameterError
from leastnoise.files.schemas import NAMES, schema
from leastnoise.laws.cut_cube import CutCubeNoise
from leastnoise.laws.exponential import count_law, range_law, touched_law
from leastnoise.laws.lifted import LiftedNoise

jsonschema = pytest.importorskip(
    "jsonschema", reason="jsonschema is not installed: pip install 'leastnoise[interop]'"
)


def check(name, content):
    jsonschema.Draft202012Validator(schema(name)).validate(content)


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"].endswith(f"{name}:1")


def test_unknown_schema():
    with pytest.raises(InvalidParameterError, match="artefact"):
        schema("ledger")


@pytest.mark.parametrize(
    "noise",
    [
        gaussian(3.0),
        laplace(0.1),
        staircase(2.0),
        sphere(3.0, 6),
        CutCubeNoise(0.28, 17.1, 50),
        discrete_laplace(3.0),
        exact(cube(3.0, 4), delta=1e-6),
        range_law(3.0, 4),
        range_law(3.0, 4, domain="real"),
        exact(count_law(3.0, 4, 2), delta=1e-6),
    ],
    ids=lambda noise: repr(noise)[:40],
)
def test_saved_laws(noise, tmp_path):
    noise.save(tmp_path / "law.json")
    content = json.loads((tmp_path / "law.json").read_text(encoding="utf-8"))
    check("noise", content)
    for change in (
        {"version": 2},
        {"sha256": "x"},
        {"law": {"kind": "cauchy"}},
        {"format": "noise"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check("noise", {**content, **change})


def test_a_norm_on_the_real_line_has_a_step():
    described = exact(count_law(3.0, 4, 2, domain="real"), delta=1e-6).describe_drawn()
    whole = schema("artefact")
    law_alone = whole["properties"]["content"]["properties"]["law"]
    alone = jsonschema.Draft202012Validator({**law_alone, "$defs": whole["$defs"]})
    alone.validate(described)
    for change in ({"domain": "integer"}, {"step": 0}, {"pitch": "-1"}):
        with pytest.raises(jsonschema.ValidationError):
            alone.validate({**described, **change})
    for left_out in ("step", "domain"):
        with pytest.raises(jsonschema.ValidationError):
            alone.validate({name: each for name, each in described.items() if name != left_out})


@pytest.mark.parametrize("law", [range_law(3.0, 4), touched_law(3.0, 4, 2), count_law(3.0, 4, 2)])
def test_laws_of_norms_as_they_are_drawn(law):
    described = exact(law, delta=1e-6).describe_drawn()
    whole = schema("artefact")
    law_alone = whole["properties"]["content"]["properties"]["law"]
    alone = jsonschema.Draft202012Validator({**law_alone, "$defs": whole["$defs"]})
    alone.validate(described)
    for change in ({"body": "cone"}, {"batch": 1}, {"pitch": "2"}, {"scale": 1.0}):
        with pytest.raises(jsonschema.ValidationError):
            alone.validate({**described, **change})


@pytest.mark.parametrize("domain", ["real", "integer"])
def test_artefacts(domain, tmp_path):
    best = design(delta=1e-6, sigma=3.0, batch=3, domain=domain)
    law = exact(best.noise, delta=1e-6)
    write_artefact(
        certify(law, delta=1e-6, rivals=dict(best.rivals), problem={"sigma": 3.0}),
        tmp_path / "noise.json",
    )
    content = json.loads((tmp_path / "noise.json").read_text(encoding="utf-8"))
    check("artefact", content)
    for path, value in [
        (("law", "bits"), 32),
        (("law", "weights"), ["0x1"]),
        (("law", "domain"), "complex"),
        (("guarantee", "delta"), 0.0),
        (("guarantee", "compositions"), 0),
        (("charges", "unbounded"), 2.0),
        (("accountant", "name"), "trust me"),
    ]:
        changed = copy.deepcopy(content)
        changed["content"][path[0]][path[1]] = value
        with pytest.raises(jsonschema.ValidationError):
            check("artefact", changed)
    del content["content"]["guarantee"]
    with pytest.raises(jsonschema.ValidationError):
        check("artefact", content)


def test_the_artefact_of_a_sphere(tmp_path):
    write_artefact(certify(sphere(8.0, 60), delta=1e-6), tmp_path / "noise.json")
    content = json.loads((tmp_path / "noise.json").read_text(encoding="utf-8"))
    check("artefact", content)
    content["content"]["law"]["body"] = "cube"
    with pytest.raises(jsonschema.ValidationError):
        check("artefact", content)


def test_the_artefact_of_a_cut_cube(tmp_path):
    write_artefact(certify(CutCubeNoise(0.28, 17.1, 60), delta=1e-6), tmp_path / "noise.json")
    content = json.loads((tmp_path / "noise.json").read_text(encoding="utf-8"))
    check("artefact", content)
    del content["content"]["law"]["square"]
    with pytest.raises(jsonschema.ValidationError):
        check("artefact", content)


@pytest.mark.parametrize(
    "request_",
    [
        ["--sigma", "8", "--compositions", "10"],
        ["--epsilon", "1", "--batch", "4", "--domain", "integer"],
        ["--epsilon", "1", "--batch", "4", "--changes", "one-sided"],
        ["--sigma", "4", "--batch", "4", "--radius", "2"],
        ["--sigma", "40", "--batch", "60", "--touched", "30"],
        ["--sigma", "4", "--objective", "renyi", "--renyi-order", "8"],
        ["--sigma", "4", "--objective", "renyi", "--renyi-order", "inf"],
    ],
    ids=lambda words: " ".join(words),
)
def test_answers_of_the_command_line(request_, tmp_path):
    from click.testing import CliRunner

    from leastnoise.cli import main

    run = CliRunner().invoke(
        main,
        ["design", "--delta", "1e-6", "--json", "--out", str(tmp_path / "noise.json"), *request_],
    )
    assert run.exit_code == 0, run.output
    content = json.loads(run.output)
    check("design", content)
    check("artefact", json.loads((tmp_path / "noise.json").read_text(encoding="utf-8")))
    with pytest.raises(jsonschema.ValidationError):
        check("design", {**content, "epsilon": -1.0})


@pytest.mark.parametrize(
    "noise",
    [LiftedNoise(cube(3.0, 4)), correlated(3.0, 4), correlated(3.0, 4, domain="integer")],
    ids=lambda noise: noise.kind,
)
def test_laws_fitted_to_one_sided_changes(noise, tmp_path):
    noise.save(tmp_path / "law.json")
    content = json.loads((tmp_path / "law.json").read_text(encoding="utf-8"))
    check("noise", content)
    with pytest.raises(jsonschema.ValidationError):
        check("noise", {**content, "law": {**content["law"], "core": "cube"}})


@pytest.mark.parametrize(
    ("noise", "changes"),
    [
        (exact(LiftedNoise(cube(3.0, 4)), delta=1e-6), OneSided()),
        (exact(LiftedNoise(cube(3.0, 4)), delta=1e-6), OneSided(ranges=[(0, 1), (0, 0.5), (0, 1)])),
        (correlated(3.0, 4), OneSided(touched=2)),
        (correlated(3.0, 4, domain="integer"), OneSided()),
        (sphere(3.0, 4, domain="integer"), Box(2)),
        (sphere(3.0, 4), Euclidean(1.5)),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_the_artefact_of_each_space(noise, changes, tmp_path):
    write_artefact(certify(noise, delta=1e-6, changes=changes), tmp_path / "noise.json")
    content = json.loads((tmp_path / "noise.json").read_text(encoding="utf-8"))
    check("artefact", content)
    stated = content["content"]["guarantee"]
    assert stated["changes"] == changes.describe()
    for wrong in (5, {"kind": "ball"}, {"kind": "box", "touched": 0}, {"kind": "euclidean"}):
        changed = copy.deepcopy(content)
        changed["content"]["guarantee"]["changes"] = wrong
        with pytest.raises(jsonschema.ValidationError):
            check("artefact", changed)
