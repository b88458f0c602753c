"""The tables behind a draw are exact: every unit of the alias table, every boundary of the faces,
every rejected word."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leastnoise import cube, discrete_gaussian, generalized_gaussian, staircase
from leastnoise.artefact.exact import exact
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.sampling import InsecureSeededEntropy, integer_weights
from leastnoise.sampling.alias import AliasTable, FaceTable, _below_face, uniform_below
from reference import lattice_points, norm, shell_count, units

WORD = 1 << 64


class Scripted:
    """Entropy that gives the listed words and then fails."""

    stamp = "scripted"

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def take(self, count: int) -> bytes:
        taken = [self.words.pop(0) for _ in range(count // 8)]
        return b"".join(word.to_bytes(8, "little") for word in taken)


@given(
    parts=st.lists(st.integers(0, 2**70), min_size=1, max_size=40).filter(any),
    bits=st.sampled_from([64, 128]),
)
def test_every_unit_of_an_alias_table(parts: list[int], bits: int) -> None:
    total = sum(parts)
    weights = [part * (1 << bits) // total for part in parts]
    weights[0] += (1 << bits) - sum(weights)
    table = AliasTable.of(weights, range(len(weights)), bits)
    assert units(table) == {value: weight for value, weight in enumerate(weights) if weight}


@pytest.mark.parametrize(
    "law",
    [
        exact(discrete_gaussian(8.0), delta=1e-6),
        exact(generalized_gaussian(8.0, 1.5), delta=1e-6),
        exact(staircase(3.0), delta=1e-6),
        exact(generalized_gaussian(8.0, 2.0), delta=1e-20),
        exact(cube(8.0, 10), delta=1e-6),
        exact(cube(8.0, 100), delta=1e-12, bits=128),
    ],
    ids=repr,
)
def test_the_table_is_the_law(law: LatticeNoise) -> None:
    weights = integer_weights(law)
    assert weights is not None
    table, faces = law.sampler().tables.table, law.sampler().tables.faces
    found = {value: Fraction(share, 1 << table.bits) for value, share in units(table).items()}
    masses = [Fraction(float(mass)) for mass in law.shell_masses]
    if faces is None:
        assert found == {
            x: masses[abs(x)] / (1 if x == 0 else 2)
            for x in range(-law.last, law.last + 1)
            if masses[abs(x)]
        }
    else:
        assert {int(faces.radii[row]): mass for row, mass in found.items()} == {
            k: mass for k, mass in enumerate(masses) if mass
        }


def test_an_alias_draw_compares_all_128_bits() -> None:
    # 2 columns of 2^127 units; outcome 0 holds 2^126 + 5 units of the first.
    table = AliasTable.of([(1 << 126) + 5, (1 << 128) - (1 << 126) - 5], [7, 9], 128)
    high = 1 << 62
    assert table.draw(1, Scripted(high, 4)).tolist() == [7]
    assert table.draw(1, Scripted(high, 5)).tolist() == [9]
    assert table.draw(1, Scripted(high - 1, WORD - 1)).tolist() == [7]
    assert table.draw(1, Scripted(high + 1, 0)).tolist() == [9]
    assert table.draw(1, Scripted(WORD - 1, WORD - 1)).tolist() == [9]


@pytest.mark.parametrize(("dimension", "k"), [(2, 1), (2, 3), (3, 1), (3, 2), (4, 2)])
def test_first_faces_are_counted_right(dimension: int, k: int) -> None:
    shell = [x for x in lattice_points(dimension, k) if norm(x) == k]
    first = Counter(next(index for index, c in enumerate(x) if abs(c) == k) for x in shell)
    below = [sum(first[index] for index in range(j)) for j in range(1, dimension)]
    assert _below_face(k, dimension) == [(count, len(shell)) for count in below]
    assert len(shell) == shell_count(dimension, k)
    boundaries = FaceTable.of([k], dimension).boundaries[:, 0].tolist()
    assert boundaries == [int(Fraction(count, len(shell)) * WORD) for count in below]


def test_a_tie_with_a_boundary_is_decided_by_more_bits() -> None:
    dimension, k = 3, 2
    table = FaceTable.of([k], dimension)
    row = np.zeros(1, dtype=np.int32)
    for j, (below, total) in enumerate(_below_face(k, dimension)):
        word, rest = divmod(below * WORD, total)
        next_word = rest * WORD // total
        assert table._first_faces(row, Scripted(word, max(next_word - 1, 0))).tolist() == [j]
        assert table._first_faces(row, Scripted(word, next_word + 1)).tolist() == [j + 1]
        assert table._first_faces(row, Scripted(word, next_word, 0)).tolist() == [j]
        assert table._first_faces(row, Scripted(word, next_word, WORD - 1)).tolist() == [j + 1]
    assert FaceTable.of([0], 3)._first_faces(row, Scripted(WORD - 1)).tolist() == [0]


@given(st.integers(1, 2**31 - 1), st.integers(0, WORD - 1))
def test_uniform_integers_are_the_high_word(size: int, word: int) -> None:
    drawn = uniform_below(np.array([size]), Scripted(word, WORD // 2 + 12345))
    product = word * size
    if product % WORD >= WORD % size:
        assert drawn.tolist() == [product // WORD]


def test_a_word_that_would_bias_a_uniform_integer_is_drawn_again() -> None:
    # 2^64 mod 6 = 4: the words whose product has a low word below 4 are one too many for their
    # value
    size = 6
    for word in (0, WORD // 3 + 1, 2 * (WORD // 3) + 1):
        rejected = word * size % WORD < WORD % size
        entropy = Scripted(word, 0, WORD - 1)
        assert uniform_below(np.array([[size]]), entropy).tolist() == [
            [5 if rejected else word * size // WORD]
        ]


@given(st.integers(1, 2**30 - 1))
def test_exactly_the_words_below_the_remainder_are_drawn_again(half: int) -> None:
    """Every value then has ⌊2^64/size⌋ words: one rejected word fewer would favour a value, one
    more another."""
    size = 2 * half + 1
    inverse, remainder = pow(size, -1, WORD), WORD % size
    for low, rejected in ((remainder - 1, True), (remainder, False)):
        word = low * inverse % WORD  # word·size ends in `low`
        drawn = uniform_below(np.array([size]), Scripted(word, WORD - 1))
        assert drawn.tolist() == [size - 1 if rejected else word * size // WORD]


@pytest.mark.parametrize(("dimension", "k"), [(2, 0), (2, 1), (3, 2), (4, 1)])
def test_points_of_a_shell_are_uniform(dimension: int, k: int) -> None:
    n = 400_000
    points = (
        FaceTable.of([k], dimension)
        .points(np.zeros(n, dtype=np.int32), InsecureSeededEntropy(dimension))
        .T
    )
    assert np.all(np.abs(points).max(axis=1) == k)
    code = (points + k) @ (2 * k + 1) ** np.arange(dimension)
    counts = np.bincount(code)
    counts = counts[counts > 0]
    assert counts.size == shell_count(dimension, k)
    if counts.size > 1:
        assert stats.chisquare(counts).pvalue > 1e-6
