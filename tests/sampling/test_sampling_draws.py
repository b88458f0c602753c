"""Drawing and releasing: one lattice, exact integers, no overflow, no value in a message, fixed
work."""

from __future__ import annotations

import math
import re
import tracemalloc
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise
from leastnoise import (
    InvalidParameterError,
    LatticeNoise,
    UnsupportedError,
    cube,
    discrete_gaussian,
    generalized_gaussian,
    laplace,
)
from leastnoise.artefact.exact import exact
from leastnoise.lattice.steps import exact_step, public_pitch
from leastnoise.sampling import InsecureSeededEntropy, OperatingSystemEntropy, draw, release

SILENT = LatticeNoise(
    [1.0], None, domain="integer"
)  # no noise at all: what is released is what was rounded
INTEGER = exact(discrete_gaussian(8.0), delta=1e-6)
REAL = exact(generalized_gaussian(8.0, 1.5), delta=1e-6)
DYADIC = exact(generalized_gaussian(2.0, 2.0, step=1 / 16), delta=1e-6)
JOINT = exact(cube(8.0, 10), delta=1e-6)


class Counted:
    """Counts the bytes and the one-bits that are consumed."""

    def __init__(
        self, source: OperatingSystemEntropy | InsecureSeededEntropy, spoil: int = 0
    ) -> None:
        self.source, self.bytes, self.ones, self.spoil = source, 0, 0, spoil

    @property
    def stamp(self) -> str:
        return self.source.stamp

    def take(self, count: int) -> bytes:
        taken = np.frombuffer(self.source.take(count), dtype=np.uint8) | self.spoil
        self.bytes += count
        self.ones += (
            int(np.bitwise_count(taken).sum())
            if hasattr(np, "bitwise_count")
            else int(np.unpackbits(taken).sum())
        )
        return taken.astype(np.uint8).tobytes()


def monobit_z(entropy: Counted) -> float:
    bits = 8 * entropy.bytes
    return abs(entropy.ones - bits / 2) / math.sqrt(bits / 4)


def test_shapes_and_types() -> None:
    assert INTEGER.sample().shape == ()
    assert INTEGER.sample(5).dtype == np.int64
    assert REAL.sample((2, 3)).shape == (2, 3)
    assert REAL.sample(4).dtype == np.float64
    assert JOINT.sample().shape == (10,)
    assert JOINT.sample((2, 3)).shape == (2, 3, 10)
    assert JOINT.sample(0).shape == (0, 10)
    assert cube(8.0, 3).sample(2).shape == (2, 3)  # rounded on the way
    for size in (-1, 2.5, True, (3, -1), "3"):
        with pytest.raises(InvalidParameterError, match="size"):
            INTEGER.sample(size)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="closed form"):
        laplace(1.0).sample(3)


def test_seeded_draws_repeat_differ_and_are_stamped() -> None:
    entropy = InsecureSeededEntropy(7)
    first, second = draw(REAL, 100, entropy=entropy), draw(REAL, 100, entropy=entropy)
    again = draw(REAL, 100, entropy=InsecureSeededEntropy(7))
    assert first.integers.tolist() == again.integers.tolist() != second.integers.tolist()
    assert "INSECURE" in first.entropy
    assert "INSECURE" in repr(first)
    assert "INSECURE" in release(REAL, [1.0], entropy=entropy, not_private=True).entropy
    assert draw(REAL, 3).entropy == "operating system"
    for seed in (-1, True, 1.0, 2**128):
        with pytest.raises(InvalidParameterError, match="seed"):
            InsecureSeededEntropy(seed)  # type: ignore[arg-type]


def test_no_other_generator_in_the_package() -> None:
    home = Path(leastnoise.__file__).parent
    for file in home.rglob("*.py"):
        if file.relative_to(home).parts[0] == "reproduction":
            continue  # the reproduction simulates errors with seeded draws; it releases nothing
        assert not re.search(
            r"np\.random|numpy\.random|^import random|^from random",
            file.read_text(encoding="utf-8"),
            re.M,
        ), file


@pytest.mark.parametrize(
    ("law", "each"),
    [
        (INTEGER, 8),
        (REAL, 8 + 2),
        (exact(discrete_gaussian(8.0), delta=1e-20), 16),
        (JOINT, 8 + 8 + 10 * (8 + 2)),
        (exact(cube(8.0, 3, domain="integer"), delta=1e-6), 8 + 8 + 3 * 8),
    ],
    ids=repr,
)
def test_entropy_consumed_is_the_same_for_every_draw(law: LatticeNoise, each: int) -> None:
    entropy = Counted(OperatingSystemEntropy())
    draw(law, 100_000, entropy=entropy)
    assert entropy.bytes == 100_000 * each


def test_monobit_of_the_consumed_entropy() -> None:
    sound = Counted(OperatingSystemEntropy())
    draw(JOINT, 50_000, entropy=sound)
    seeded = Counted(InsecureSeededEntropy(1))
    draw(INTEGER, 500_000, entropy=seeded)
    assert monobit_z(sound) < 7.1  # probability 1e-12
    assert monobit_z(seeded) < 7.1
    stuck = Counted(OperatingSystemEntropy(), spoil=1)
    draw(INTEGER, 50_000, entropy=stuck)
    assert monobit_z(stuck) > 7.1


def test_memory_is_the_result_and_one_chunk() -> None:
    draw(JOINT, 1)
    for law, size in ((INTEGER, 2_000_000), (JOINT, 200_000)):
        tracemalloc.start()
        result = draw(law, size).integers
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < result.nbytes + 8_000_000


# --- the lattice ---------------------------------------------------------------------------------


def test_every_output_is_on_one_lattice_whatever_the_answer() -> None:
    for law in (REAL, DYADIC):
        for answer in (0.0, 1.0, math.pi, -1e9, 1e-300, 2.0**80):
            released = release(law, np.full(1000, answer))
            assert released.unit == law.sampler().unit == exact_step(law.step) / 2**17
            assert all(int(n) % 2 == 1 for n in released.integers)
    assert release(INTEGER, np.full(10, math.pi)).unit == 1


def test_noise_in_a_bin_is_symmetric() -> None:
    integers = draw(REAL, 100_000, entropy=InsecureSeededEntropy(3)).integers
    place = (integers + 2**16) % 2**17 - 2**16
    assert place.min() >= -(2**16) + 1
    assert place.max() <= 2**16 - 1
    assert abs(place.mean()) < 5 * 2**16 / math.sqrt(3 * 100_000)


@given(
    st.floats(-1e15, 1e15)
    | st.fractions()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False, places=20)
)
def test_rounding_is_the_floor_of_x_plus_a_half(answer: Any) -> None:
    expected = math.floor(Fraction(answer) + Fraction(1, 2))
    assert release(SILENT, [answer]).integers.tolist() == [expected]
    if isinstance(answer, float):
        assert release(SILENT, np.array([answer])).integers.tolist() == [expected]


def test_halves_go_up_for_every_type() -> None:
    halves = [-1.5, -0.5, 0.5, 1.5, 2.5]
    expected = [-1, 0, 1, 2, 3]
    assert release(SILENT, np.array(halves)).integers.tolist() == expected
    assert release(SILENT, np.array(halves, dtype=np.float32)).integers.tolist() == expected
    assert release(SILENT, halves).integers.tolist() == expected
    assert release(SILENT, [Decimal(str(half)) for half in halves]).integers.tolist() == expected
    nearly = np.array(
        [np.nextafter(0.5, 0.0), np.nextafter(-0.5, -1.0), -5e-324, 5e-324, 2.0**53 - 1]
    )
    assert release(SILENT, nearly).integers.tolist() == [0, -1, 0, 0, 2**53 - 1]


@given(
    a=st.floats(-1e6, 1e6),
    steps=st.integers(-(10**6), 10**6),
    law=st.sampled_from([REAL, DYADIC]),
)
def test_rounding_commutes_with_the_lattice(a: float, steps: int, law: LatticeNoise) -> None:
    here = release(law, [Fraction(a)], entropy=InsecureSeededEntropy(1), not_private=True).integers[
        0
    ]
    moved = Fraction(a) + steps * public_pitch(law.step, law.domain)
    there = release(law, [moved], entropy=InsecureSeededEntropy(1), not_private=True).integers[0]
    assert there - here == 2 * steps


@given(
    a=st.floats(-1e3, 1e3),
    shift=st.fractions(min_value=-1, max_value=1),
    m=st.sampled_from([3, 7, 10, 49]),
)
def test_rounding_costs_no_sensitivity(a: float, shift: Fraction, m: int) -> None:
    """Answers at most 1 apart are at most m bins apart, although 1/m is not a floating-point
    number."""
    law = LatticeNoise([1.0], None, step=1.0 / m)
    assert m * exact_step(law.step) >= 1
    one = release(law, [Fraction(a)], entropy=InsecureSeededEntropy(1), not_private=True).integers[
        0
    ]
    other = release(
        law, [Fraction(a) + shift], entropy=InsecureSeededEntropy(1), not_private=True
    ).integers[0]
    assert abs(one - other) <= m * 2**17


# --- what is released ----------------------------------------------------------------------------


def test_release_is_answer_plus_noise() -> None:
    noise = draw(REAL, 5, entropy=InsecureSeededEntropy(2)).floats()
    answers = np.array([0.0, 1.5, -2.25, 100.0, 1e6])
    assert np.allclose(
        release(REAL, answers, entropy=InsecureSeededEntropy(2), not_private=True).floats(),
        answers + noise,
        atol=float(public_pitch(REAL.step, REAL.domain)),
    )
    assert INTEGER.release([1, 2, 3]).dtype == np.int64
    assert JOINT.release(np.zeros((4, 10))).shape == (4, 10)
    assert REAL.release(5.0).shape == ()


def test_decimals_are_exact() -> None:
    released = release(REAL, [1.25, -3], entropy=InsecureSeededEntropy(5), not_private=True)
    for value, integer in zip(released.decimals(), released.integers, strict=True):
        assert Fraction(value) == int(integer) * released.unit
    assert isinstance(REAL.release(1.0, decimals=True).item(), Decimal)


def test_no_overflow() -> None:
    huge = [10**30, -(10**30), 2**63 - 1, -(2**63), 0]
    assert [
        abs(int(b) - a) < 100 for a, b in zip(huge, release(INTEGER, huge).integers, strict=True)
    ] == [True] * 5
    edges = np.array([2**63 - 1, -(2**63)])
    assert [
        abs(int(b) - int(a)) < 100
        for a, b in zip(edges, release(INTEGER, edges).integers, strict=True)
    ] == [True] * 2
    unsigned = np.array([2**64 - 1], dtype=np.uint64)
    assert abs(int(release(INTEGER, unsigned).integers[0]) - (2**64 - 1)) < 100
    top = float(np.finfo(np.float64).max)
    assert np.allclose(release(DYADIC, np.array([top, -top])).floats(), [top, -top])
    assert release(INTEGER, [10**400]).floats().tolist() == [top]


@pytest.mark.parametrize(
    "answers",
    [
        [123456.5, None],
        [123456.5, math.nan],
        [123456.5, math.inf],
        np.array([123456.5, -math.inf]),
        np.array([123456.5, math.nan], dtype=np.float32),
        [Decimal("123456.5"), Decimal("NaN")],
        ["123456.5"],
        [[123456.5, 1.0], [2.0]],
        np.array([123456.5 + 1j]),
        np.ma.masked_array([123456.5, 1.0], mask=[False, True]),
        [True, 123456.5],
        [np.timedelta64(123456, "ns")],
        np.array([np.timedelta64(123456, "s")], dtype=object),
        [123456.5, np.timedelta64("NaT", "s")],
        b"123456.5",
        {"a": 123456.5},
    ],
    ids=lambda answers: type(answers).__name__,
)
@pytest.mark.parametrize("law", [SILENT, REAL, DYADIC], ids=repr)
def test_a_refusal_does_not_show_the_answers(answers: Any, law: LatticeNoise) -> None:
    with pytest.raises(InvalidParameterError) as error:
        law.release(answers)
    assert "123456" not in str(error.value)
    assert "123456" not in repr(error.value.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_wrong_shapes_are_refused() -> None:
    for answers in (np.zeros(9), np.zeros((10, 9)), 5.0):
        with pytest.raises(InvalidParameterError, match="10 answers"):
            JOINT.release(answers)


def test_only_exact_laws_are_released() -> None:
    with pytest.raises(UnsupportedError, match="exact"):
        discrete_gaussian(8.0).release([1])
    with pytest.raises(UnsupportedError, match="closed form"):
        laplace(8.0).release([1])


# --- Mironov's attack (CCS 2012): low-order bits -------------------------------------------------


def naive_laplace(answer: float, uniform: np.ndarray, scale: float) -> np.ndarray:
    """answer + scale·sign·log(U) in floating point, as in the textbooks."""
    sign = np.where(uniform < 0.5, -1.0, 1.0)
    return answer - sign * scale * np.log(2.0 * np.minimum(uniform, 1.0 - uniform))


def betrayed(outputs: np.ndarray, other: np.ndarray) -> float:
    """Share of the outputs in (0, ½) with low-order bits that no output of the other answer has
    there."""

    def last_bits(values: np.ndarray) -> np.ndarray:
        mantissa, exponent = np.frexp(values[(values > 0.0) & (values < 0.5)])
        integer = np.ldexp(mantissa, 53).astype(np.int64)
        return exponent - 53 + np.log2((integer & -integer).astype(np.float64)).astype(np.int64)

    return float(np.mean(last_bits(outputs) < last_bits(other).min()))


def test_low_order_bits_betray_the_naive_laplace_but_not_ours() -> None:
    n = 200_000
    words = np.frombuffer(InsecureSeededEntropy(11).take(16 * n), dtype=np.uint64) >> np.uint64(11)
    uniform = (words.astype(np.float64) + 0.5) / 2.0**53
    zero, one = naive_laplace(0.0, uniform[:n], 1.0), naive_laplace(1.0, uniform[n:], 1.0)
    # An answer of 0 leaves bits below 2^−53, which 1 + noise has rounded away: most of its outputs
    # give it away for certain.
    assert betrayed(zero, one) > 0.5
    law = exact(generalized_gaussian(math.sqrt(2.0), 1.0, step=1 / 64), delta=1e-6)
    zero = release(law, np.zeros(n), entropy=InsecureSeededEntropy(12), not_private=True).floats()
    one = release(law, np.ones(n), entropy=InsecureSeededEntropy(13), not_private=True).floats()
    assert betrayed(zero, one) == betrayed(one, zero) == 0.0


def test_a_float_output_shows_its_place_and_nothing_else() -> None:
    """Where the step is no floating-point number the low bits of outputs vary, but they are a
    function of the place."""
    for answer in (0.0, 1.0, 0.1):
        released = release(
            REAL, np.full(10_000, answer), entropy=InsecureSeededEntropy(14), not_private=True
        )
        expected = [float(int(n) * REAL.sampler().unit) for n in released.integers]
        assert released.floats().tolist() == expected


def test_both_answers_reach_the_same_places_but_for_what_is_charged() -> None:
    m = 1
    support = {x for x in range(-INTEGER.last, INTEGER.last + 1) if INTEGER.shell_masses[abs(x)]}
    unshared = support - {x + m for x in support}
    mass = sum(Fraction(float(INTEGER.shell_masses[abs(x)])) / (2 if x else 1) for x in unshared)
    assert 0 < mass <= Fraction(1e-8) * Fraction(1e-6)


def test_more_shells_than_the_tables_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastnoise.sampling.lattice._MOST_SHELLS", 8)
    with pytest.raises(InvalidParameterError, match="fewer than 8"):
        exact(discrete_gaussian(7.25), delta=1e-6).sample(1)


def test_huge_single_answers_and_ragged_lists() -> None:
    assert (
        np.asarray(
            release(REAL, 1e308, entropy=InsecureSeededEntropy(1), not_private=True).floats()
        ).shape
        == ()
    )
    with pytest.raises(InvalidParameterError, match="answers=<not shown>"):
        release(
            REAL,
            [np.zeros((2, 2)), np.zeros((2, 3))],
            entropy=InsecureSeededEntropy(1),
            not_private=True,
        )


def test_the_type_of_what_is_released_does_not_show_the_answer() -> None:
    """int64 below 2^61 and Python's integers above was one bit of the exact answer."""
    for law, kind in ((INTEGER, np.int64), (REAL, np.float64), (DYADIC, np.float64)):
        for answer in (0, 1, 2**60, 2**61, 2**62, 2**63, 10**30, -(10**30)):
            assert law.release([answer]).dtype == kind
            assert release(law, [answer]).integers.dtype == object
    top = np.iinfo(np.int64)
    assert INTEGER.release([10**30, -(10**30)]).tolist() == [top.max, top.min]


class Pretender:
    """Says that it is the operating system, and gives zeros."""

    stamp = "operating system"

    def take(self, count: int) -> bytes:
        return bytes(count)


class Heir(OperatingSystemEntropy):
    def take(self, count: int) -> bytes:
        return bytes(count)


def test_only_the_operating_system_carries_its_name() -> None:
    assert draw(INTEGER, 3).entropy == release(INTEGER, [1]).entropy == "operating system"
    for source in (Pretender(), Heir()):
        for drawn in (
            draw(INTEGER, 3, entropy=source),
            release(INTEGER, [1], entropy=source, not_private=True),
        ):
            assert (
                drawn.entropy == f"CUSTOM source {type(source).__name__}: not known to be private"
            )
    assert draw(INTEGER, 3, entropy=InsecureSeededEntropy(1)).entropy.startswith("INSECURE seed 1")
