"""How far from the best possible: bounds over all noise, with certificates anyone can check.

`certificates` says what is claimed and what proves it, as plain data; `checking` checks it in
integers, from the definitions and without the search; `one_release` and `many_releases` search.
The theorems are in docs/optimality.md.
"""
