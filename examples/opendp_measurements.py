"""leastnoise in OpenDP: one count, ten counts with one joint draw, a Context, and Rényi
divergences. Needs leastnoise[opendp]."""

import opendp.prelude as dp

from leastnoise import design
from leastnoise.interop.opendp import enable, measurement, register, then_leastnoise

enable()

# One count: the design ends a chain like any noise of OpenDP's own.
one = design(delta=5e-7, epsilon=0.5, domain="integer")
count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
private_count = count >> then_leastnoise(one)
people = ["a", "b", "c"] * 100
print(
    f"a count of {len(people)}: {private_count(people)}, standard deviation {one.sigma:.2f}, (ε, "
    f"δ) = {private_count.map(1)}"
)

# Ten counts of all people, one joint draw. OpenDP would add up ten ε; the vector measurement keeps
# the joint one.
ten = design(delta=1e-6, sigma=8.0, batch=10, domain="integer")
together = measurement(ten)
print(f"ten counts together: {together([30 * k for k in range(10)])}")
print(f"  (ε, δ) at distance 1, 2, 3: {[together.map(d) for d in (1, 2, 3)]}")
print(f"  ε of independent Gaussian noise at distance 1: {ten.rivals['discrete Gaussian']:.4f}")

# A histogram: one person is in one bin, so one draw is touched, whatever the number of bins.
bins = dp.t.make_count_by_categories(
    dp.vector_domain(dp.atom_domain(T=str)),
    dp.symmetric_distance(),
    categories=["a", "b", "c"],
    MO="L1Distance<i32>",
)
histogram = bins >> then_leastnoise(one, answers=4)  # a, b, c and everything else
print(f"a histogram: {histogram(people)}, (ε, δ) = {histogram.map(1)}")

# A Context that gives out a budget in two parts.
register()
context = dp.Context.compositor(
    data=people,
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
    split_evenly_over=2,
    domain=dp.vector_domain(dp.atom_domain(T=str)),
)
print(f"two queries of a Context: {context.query().count().leastnoise(one).release()}, ", end="")
print(context.query().count().leastnoise(one).release())

# For those who compose Rényi divergences in OpenDP.
curve = count >> then_leastnoise(one, measure="renyi")
twice = dp.c.make_composition([curve, curve])
print(f"two counts, divergence of order 8: {twice.map(1)(8.0):.4f}")
