"""The judge: from a law to a privacy guarantee. It never knows how a law was made.

    privacy_loss  what people use: ε, δ and bounds on both after any releases
    composition   the releases, and what is known of their losses without a grid
    saddle        the tilt and the pitch that suit the ε or δ in question
    grid          one release on a grid         window  all of them, by tilted FFT
    upper, lower  the certified bounds          bounds  a number between two
    at_nodes      δ at many ε at once           curve   for every ε, and what an attacker can do
    attacker      the same in a few numbers and in words
    constraints   several points of it promised at once
    renyi         the moments accountant        zcdp    its largest slope, apart from a δ

Where each error goes (every number called an upper bound is one; lower bounds mirror this):

- *One release.* A lattice law at a given shift is a finite table of (loss, probability)
  plus two tail entries in closed form, so its profile is a finite sum of positive
  terms. Rounding: losses carry an allowance of 8 units in the last place each, which is
  added to ε; probabilities a relative 1e-13 a release, which multiplies δ.
- *Worst shift.* A non-increasing law is judged at the corner shift alone (worst-shift theorem);
  any other law by the pointwise maximum of the profiles of all shifts, which is again a profile.
- *Discretisation.* Connect-the-Dots: each loss is split over its two neighbours on a
  grid of pitch h so that the masses under P and under Q are both kept. This is a
  dilation: it can only raise δ(ε). h is chosen so that ε rises by about 5e-6 of itself.
- *Truncation.* Unbounded losses (Gaussian) beyond the grid's top count as infinite;
  losses below its bottom are raised to it.
- *Composition.* FFT of the loss distribution tilted by e^(θL), θ at the saddle point,
  so errors are relative to δ and not to 1. The cyclic window follows from Chernoff
  bounds; what it may lose above is added to δ, what wraps around at either end only
  adds to it (and is subtracted in lower bounds). Floating-point error of the FFTs is
  bounded from the sums of what they add up, weighted as δ weighs each loss, and added.
- *Rare large losses.* The highest losses, of 1e-5 of δ together, are counted as
  infinite before all this.
- *Lower bounds.* Splitting adds to each loss a step ξ with E[e^(−ξ)] = 1 and |ξ| ≤ h,
  so ln E[e^(cξ)] ≤ (c + c²)h²/8; Chernoff's bound on the sum of these steps turns the
  discretised value into a lower bound on the exact one.
"""
