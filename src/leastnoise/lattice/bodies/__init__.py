"""Integer-valued norms on the lattice, one file a body: the laws whose probability depends on such
a norm alone are fitted to what one person can change (docs/mathematics.md#laws-of-an-integer-norm).

base         what a body says of its shells, and of the changes it is made for
range        max(0, max x) − min(0, min x): answers that all move up or all move down
touched      max(‖x‖∞, ⌈‖x‖₁/k⌉): any signs, at most k answers move
count        the same of the positive and of the negative part, added: one-sided, at most k answers
capped       points of a positive orthant with a bounded largest entry and a bounded sum
capped_forms the law of forms in answers of `touched` and `count`
combination  the law of a sum of answers with whole coefficients, for the range
overlap      points at one radius from 0 and at another from a one-sided shift, for the range
"""
