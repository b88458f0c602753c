"""Mechanisms of dp-accounting in a ledger, beside our own."""

import math

import numpy as np
import pytest

from leastnoise import Ledger, PrivacyLoss, design, exact, gaussian, laplace, sphere
from leastnoise.errors import BudgetExceededError, InvalidParameterError, UnsupportedError
from leastnoise.ledger.budget import declared
from leastnoise.ledger.filter import charge, filter_epsilon
from leastnoise.ledger.ledger import Spend
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.laplace import LaplaceLoss
from leastnoise.losses.lattice import NOTHING_SHARED
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

dp_accounting = pytest.importorskip("dp_accounting")
from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: E402

from leastnoise.interop.dp_accounting import from_pld  # noqa: E402

DELTA = 1e-6
GAUSSIAN = pld.from_gaussian_mechanism(8.0, use_connect_dots=True)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("late", epsilon=3.0, delta=DELTA)
        ledger.open_dataset("fixed", epsilon=3.0, delta=DELTA, rule="fixed in advance")
        yield ledger


@pytest.fixture(scope="module")
def batch():
    made = design(delta=DELTA, epsilon=0.5, batch=3)
    return exact(made.noise, delta=DELTA)


def test_two_gaussians_of_theirs_and_a_batch_of_ours(ledger, batch):
    expected = (
        PrivacyLoss.of(gaussian(8.0)).compose(2).compose(PrivacyLoss.of(batch)).epsilon(DELTA)
    )
    for name in ("late", "fixed"):
        ledger.spend(name, [Spend(from_pld(GAUSSIAN), uses=2)], plan_hash="theirs")
        ledger.spend(name, [Spend(batch)], plan_hash="ours")
    assert ledger.dataset("fixed").spent == pytest.approx(expected, rel=1e-4)
    assert ledger.dataset("fixed").spent >= expected * (1 - 1e-9)
    assert expected < ledger.dataset("late").spent < 1.15 * expected
    assert ledger.dataset("late").epsilon_if_fixed == ledger.dataset("fixed").spent
    assert ledger.check(every_entry=True).ok


def test_the_filter_charges_their_gaussian_as_ours(ledger):
    ledger.open_dataset("ours", epsilon=3.0, delta=DELTA)
    for _ in range(3):
        ledger.spend("late", [Spend(from_pld(GAUSSIAN))], plan_hash="theirs")
        ledger.spend("ours", [Spend(gaussian(8.0))], plan_hash="ours")
    # A table is trimmed of its rarest losses, a closed form is not.
    assert ledger.dataset("late").spent == pytest.approx(ledger.dataset("ours").spent, rel=2e-3)


def test_losses_rounded_up_cost_more_never_less(ledger):
    coarse = pld.from_gaussian_mechanism(
        8.0, value_discretization_interval=1e-2, use_connect_dots=False
    )
    ledger.open_dataset("coarse", epsilon=3.0, delta=DELTA)
    for _ in range(2):
        ledger.spend("late", [Spend(from_pld(GAUSSIAN))], plan_hash="fine")
        ledger.spend("coarse", [Spend(from_pld(coarse))], plan_hash="coarse")
    assert ledger.dataset("coarse").spent > ledger.dataset("late").spent


def test_a_subsampled_mechanism_is_kept_in_both_directions(ledger, tmp_path):
    sampled = pld.from_gaussian_mechanism(1.0, sampling_prob=0.01)
    ledger.spend("fixed", [Spend(from_pld(sampled), uses=100)], plan_hash="training")
    theirs = sampled.self_compose(100).get_epsilon_for_delta(DELTA)
    assert theirs * (1 - 1e-4) < ledger.dataset("fixed").spent < 1.2 * theirs
    with Ledger(tmp_path / "budget.ledger") as again:  # read back from the file, not from memory
        assert again.preview("fixed", [Spend(from_pld(sampled), uses=100)]).epsilon_after > theirs
        loss = again.law(again.entries("fixed")[0].law_hash)
        assert isinstance(loss, PrivacyLoss)
        assert loss.epsilon(DELTA) == from_pld(sampled).epsilon(DELTA)
        assert again.check(every_entry=True).ok
        assert "loss" in again.export()


def test_a_composed_loss_is_kept_part_by_part(ledger):
    both = PrivacyLoss.of(gaussian(9.0)).compose(2).compose(PrivacyLoss.of(laplace(9.0)))
    entry = ledger.spend("fixed", [Spend(both, uses=3)], plan_hash="parts")
    assert [draws.uses for draws in entry.draws] == [
        3,
        3,
    ]  # two Gaussian losses are one, of √2 times the μ
    assert entry.epsilon_after == pytest.approx(both.compose(3).epsilon(DELTA), rel=1e-9)
    assert ledger.check(every_entry=True).ok


def test_what_cannot_be_kept_is_refused_and_nothing_is_written(ledger):
    before = ledger.head
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        Spend(from_pld(GAUSSIAN), sensitivity=2.0)
    with pytest.raises(UnsupportedError, match="spend its law"):
        ledger.spend("late", [Spend(PrivacyLoss.of(sphere(8.0, 3)))], plan_hash="ball")
    with pytest.raises(BudgetExceededError):
        ledger.spend(
            "late", [Spend(from_pld(pld.from_gaussian_mechanism(0.5)))], plan_hash="too much"
        )
    assert ledger.head == before


@pytest.mark.parametrize(
    ("loss", "error", "said"),
    [
        (GaussianLoss(-0.1), InvalidParameterError, "mu"),
        (GaussianLoss(math.nan), InvalidParameterError, "mu"),
        (LaplaceLoss(math.inf), InvalidParameterError, "ratio"),
        (WorstOf(()), UnsupportedError, "WorstOf"),
        (TableLoss(np.array([0.0, 1.0]), np.log([0.5, 0.4])), InvalidParameterError, "sum of 1"),
        (TableLoss(np.array([math.nan]), np.zeros(1)), InvalidParameterError, "finite"),
        (TableLoss(np.zeros(1), np.zeros(1), infinite=-1e-9), InvalidParameterError, "finite"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
@pytest.mark.parametrize("name", ["late", "fixed"])
def test_losses_that_are_none_are_refused(ledger, name, loss, error, said):
    before = ledger.head
    with pytest.raises(error, match=said):
        ledger.spend(name, [Spend(PrivacyLoss(((loss, 1),)))], plan_hash="odd")
    assert ledger.head == before


def test_the_filter_never_charges_less_than_the_truth_in_either_direction():
    """Pairs of laws on a few points, neither symmetric nor of the same support, against direct
    enumeration."""
    random = np.random.default_rng(3)
    judged = 0
    for _ in range(300):
        p, q = random.dirichlet(np.full(4, 0.7)), random.dirichlet(np.full(4, 0.7))
        p[0] *= 1e-4
        q[random.integers(1, 4)] *= random.choice([0.0, 1.0])
        p, q = p / p.sum(), q / q.sum()
        uses, delta = int(random.integers(1, 5)), float(random.choice([1e-3, 1e-2, 1e-1]))
        both = WorstOf((loss_of(p, q), loss_of(q, p)))
        budget = declared(1.0, delta)
        epsilons = [PrivacyLoss(((both, uses),)).epsilon(delta)]
        for spare in (0.0, 0.02 * delta / uses):
            epsilons.append(
                filter_epsilon(charge(both, budget, spare=spare, foreign=True).times(uses), budget)
            )
        for epsilon in epsilons:
            if math.isfinite(epsilon):
                judged += 1
                assert max(
                    true_delta(p, q, uses, epsilon), true_delta(q, p, uses, epsilon)
                ) <= delta * (1 + 1e-9)
    assert judged > 400


def loss_of(p, q):
    shared = (p > 0) & (q > 0)
    return TableLoss(
        np.log(p[shared] / q[shared]), np.log(p[shared]), infinite=float(p[q == 0].sum())
    )


def true_delta(p, q, uses, epsilon):
    all_p, all_q = np.ones(1), np.ones(1)
    for _ in range(uses):
        all_p, all_q = np.outer(all_p, p).ravel(), np.outer(all_q, q).ravel()
    return float(np.sum(np.maximum(all_p - math.exp(epsilon) * all_q, 0.0)))


@pytest.mark.parametrize(
    "parts", [(), ((PrivacyLoss.of(gaussian(8.0)).parts[0][0], 0),)], ids=["nothing", "no times"]
)
def test_a_loss_of_nothing_is_refused(parts):
    with pytest.raises(InvalidParameterError, match="the loss of something"):
        Spend(PrivacyLoss(parts))


def test_a_mechanism_without_privacy_is_refused_without_a_warning(ledger):
    with pytest.raises(BudgetExceededError):
        ledger.spend("late", [Spend(PrivacyLoss(((NOTHING_SHARED, 1),)))], plan_hash="x")
