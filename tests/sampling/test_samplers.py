"""Every law says how it is drawn; what is drawn, described and read back is one law."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from leastnoise import (
    cube,
    discrete_gaussian,
    exact,
    gaussian,
    generalized_gaussian,
    laplace,
    sphere,
)
from leastnoise.artefact.exact import as_drawn
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.interop.untruncated import UntruncatedLaw
from leastnoise.lattice.steps import public_pitch
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import lattice_form
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.sampling import InsecureSeededEntropy, IntegerWeights, draw, release

DRAWN = [
    exact(discrete_gaussian(3.0), delta=1e-6),
    exact(generalized_gaussian(3.0, 1.5), delta=1e-6),
    exact(cube(8.0, 3, domain="integer"), delta=1e-6),
    sphere(8.0, 4),
    sphere(8.0, 4, domain="integer"),
    UntruncatedLaw.of(discrete_gaussian(3.0)),
    UntruncatedLaw.of(generalized_gaussian(3.0, 1.0)),
]


@pytest.mark.parametrize("law", DRAWN, ids=repr)
def test_a_release_is_the_snapped_answer_plus_what_the_sampler_draws(law) -> None:
    sampler = law.sampler()
    d = sampler.dimension
    answers = np.linspace(-7.3, 9.1, 6 * d).reshape((6, d) if sampler.is_joint else 6 * d)
    if sampler.pitch == 1:
        answers = np.rint(answers)
    released = release(law, answers, entropy=InsecureSeededEntropy(3), not_private=True)
    shape = answers.shape[:-1] if sampler.is_joint else answers.shape
    noise = sampler.integers(shape, InsecureSeededEntropy(3))
    assert released.unit == sampler.unit
    assert sampler.is_exact
    for value, moved, drawn in zip(
        answers.ravel(), released.integers.ravel(), noise.ravel(), strict=True
    ):
        snapped = (moved - int(drawn)) * sampler.unit
        assert snapped % sampler.pitch == 0
        assert abs(snapped - Fraction(value)) <= sampler.pitch / 2


@pytest.mark.parametrize("law", [*DRAWN[:5], cube(3.0, 2), discrete_gaussian(2.0)], ids=repr)
def test_the_pitch_of_a_sampler_is_the_public_one(law: Noise) -> None:
    assert law.step is not None
    sampler = law.sampler()
    assert sampler.pitch == public_pitch(law.step, law.domain)
    assert sampler.pitch / sampler.unit in (1, 2)
    drawn = draw(law, (2, 3), entropy=InsecureSeededEntropy(1))
    assert drawn.integers.shape == (2, 3, law.dimension) if sampler.is_joint else (2, 3)
    assert drawn.unit == sampler.unit


@pytest.mark.parametrize("law", [gaussian(1.0), laplace(1.0)], ids=repr)
def test_a_closed_form_is_drawn_on_a_lattice(law: Noise) -> None:
    for ask in (law.sampler, law.describe_drawn, lambda: draw(law), lambda: exact(law, delta=1e-6)):
        with pytest.raises(UnsupportedError, match="closed form without a lattice"):
            ask()
    form = lattice_form(law, sensitivity=2.0)
    assert form.std == pytest.approx(1.0, rel=1e-9)
    assert form.radial is form
    assert lattice_form(law, wider=1.5).std == pytest.approx(1.5, rel=1e-9)
    assert lattice_form(form) is form
    assert as_drawn(form, delta=1e-6, sensitivity=2.0).sampler().is_exact


def test_what_is_drawn_exactly_stays_what_it_is() -> None:
    ball = sphere(8.0, 4)
    assert as_drawn(ball, delta=1e-6) is ball
    assert ball.radial is None
    made = as_drawn(discrete_gaussian(3.0), delta=1e-6)
    assert made == DRAWN[0]
    assert as_drawn(made, delta=1e-6) is made


@pytest.mark.parametrize("law", DRAWN[:5], ids=repr)
def test_a_law_as_it_is_drawn_comes_back_from_plain_data(law: Noise) -> None:
    content = json.loads(json.dumps(law.describe_drawn()))
    assert Noise.from_drawn(content) == law
    with pytest.raises(ValueError, match="fields of 'law'"):
        Noise.from_drawn({**content, "more": 1})
    with pytest.raises(ValueError, match="not known here"):
        Noise.from_drawn({**content, "body": "egg"})


def test_only_laws_with_weights_are_described_as_drawn() -> None:
    with pytest.raises(UnsupportedError, match="integer weights"):
        discrete_gaussian(3.0).describe_drawn()


def test_weights_come_back_from_plain_data_or_are_refused() -> None:
    whole = IntegerWeights(64, (0, 0, 1 << 63, 1 << 62, 1 << 62))
    content = whole.described()
    assert content == {"bits": 64, "first": 2, "weights": ["8" + "0" * 15, *["4" + "0" * 15] * 2]}
    assert IntegerWeights.from_description(content) == whole
    assert whole.in_bits(128) == tuple(weight << 64 for weight in whole.weights)
    for change in (
        {"bits": 65},
        {"first": -1},
        {"first": True},
        {"first": 2.0},
        {"weights": "8"},
        {"weights": ["8" + "0" * 15]},
        {"weights": ["0x8" + "0" * 15, "8" + "0" * 15]},
        {"weights": [1 << 64]},
    ):
        with pytest.raises((ValueError, TypeError)):
            IntegerWeights.from_description({**content, **change})
    with pytest.raises(InvalidParameterError, match="shells"):
        IntegerWeights.from_description({**content, "first": 1 << 22})


def test_a_weight_with_more_digits_than_a_float_is_refused() -> None:
    law = exact(discrete_gaussian(3.0), delta=1e-6, bits=128)
    content = law.describe_drawn()
    weights = [int(text, 16) for text in content["weights"]]
    weights[0], weights[1] = weights[0] + 2, weights[1] - 2
    with pytest.raises(ValueError, match="more digits"):
        LatticeNoise.from_drawn({**content, "weights": [f"{weight:x}" for weight in weights]})
