"""Benchmarks: each module prints a table. `python -m benchmarks` runs all, `python -m benchmarks
NAME …` some."""
