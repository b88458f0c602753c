"""One budget for two Gaussian releases accounted by dp-accounting and a batch of ours. Needs
leastnoise[dp-accounting]."""

import tempfile
from pathlib import Path

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution as pld

from leastnoise import Ledger, PrivacyLoss, Spend, design, exact
from leastnoise.interop.dp_accounting import accountant, both_directions, dp_event, from_pld, to_pld

DELTA = 1e-6
batch = design(delta=DELTA, sigma=8.0, batch=10)
gaussian = pld.from_gaussian_mechanism(5.0, use_connect_dots=True)

# Our law among their distributions.
theirs = gaussian.self_compose(2).compose(to_pld(batch)).get_epsilon_for_delta(DELTA)

# Our law as an event among their events.
event = dp_accounting.ComposedDpEvent(
    [
        dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(5.0), 2),
        dp_accounting.ComposedDpEvent([dp_event(batch)]),
    ]
)
by_events = accountant().compose(event).get_epsilon(DELTA)

# Their distribution among our losses.
ours = from_pld(gaussian).compose(2).compose(PrivacyLoss.of(batch.noise)).epsilon(DELTA)

print(f"two Gaussians and ten answers at once, ε at δ = {DELTA:g}:")
print(
    f"  their distributions {theirs:.6f}\n  their events        {by_events:.6f}\n  our accountant "
    f"     {ours:.6f}"
)

# A subsampled mechanism has another loss when a person is added than when one is removed: both are
# composed, the worse one counts.
sampled = pld.from_gaussian_mechanism(1.0, sampling_prob=0.1, use_connect_dots=True)
mixed = both_directions(sampled).compose(10).compose(PrivacyLoss.of(batch.noise))
print(f"ten subsampled Gaussians and the batch: {mixed.epsilon(DELTA):.6f}")
print(
    "  by their distributions: "
    f"{sampled.self_compose(10).compose(to_pld(batch)).get_epsilon_for_delta(DELTA):.6f}"
)

# A ledger that holds both: their mechanisms by their loss, ours by its law, refused before the
# budget is overspent.
with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "budget.ledger") as ledger:
    ledger.open_dataset("patients", epsilon=2.1, delta=DELTA, rule="fixed in advance")
    law = exact(batch.noise, delta=DELTA)
    ledger.spend(
        "patients",
        [Spend(from_pld(gaussian), uses=2)],
        plan_hash="two means, released with other software",
    )
    ledger.spend("patients", [Spend(law)], plan_hash="ten counts")
    more = ledger.preview("patients", [Spend(law)])
    print(
        f"in the ledger: {ledger.dataset('patients').spent:.6f} of 2.1; ten more counts would "
        f"make it {more.epsilon_after:.4f}"
    )
    print(f"  allowed: {more.allowed}, the ledger checks: {ledger.check(every_entry=True).ok}")
