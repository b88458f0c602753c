"""The integer lattice, as judge, designer and sampler share it.

shells      how many points lie at a radius, in any dimension
overlap     how many lie at one radius from 0 and at another from a shifted centre
radial      laws that depend on the radius alone: shell masses with a geometric tail
waves       characteristic functions of forms in coordinates of cubes
bodies/     integer-valued norms other than the largest entry, and what is counted of them
rounded_changes  what one person changes once answers are rounded to a public lattice
longest_change   how far unequal ranges go for noise that is tied together
steps       a step in exact arithmetic, and how many span a sensitivity
resolution  how fine a lattice is fine enough
"""
