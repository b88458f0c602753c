"""What other people's scripts rely on: the public names, and the README."""

import re
from pathlib import Path

import leastnoise

ROOT = Path(__file__).resolve().parents[1]

PUBLIC = [
    "AccountingError",
    "Bounds",
    "Box",
    "BudgetExceededError",
    "Changes",
    "Constraint",
    "Cost",
    "Design",
    "DesignError",
    "EngineError",
    "Euclidean",
    "FrontierPoint",
    "InvalidFileError",
    "InvalidParameterError",
    "LatticeNoise",
    "LeastNoiseError",
    "Ledger",
    "LedgerError",
    "Noise",
    "NoisyAnswer",
    "OneSided",
    "correlated",
    "Plan",
    "PlanError",
    "PrivacyCurve",
    "PrivacyLoss",
    "Release",
    "Series",
    "SeriesError",
    "Spend",
    "Statistic",
    "UnsupportedError",
    "cactus",
    "cube",
    "design",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_staircase",
    "epsilon_from_renyi",
    "exact",
    "frontier",
    "gaussian",
    "generalized_gaussian",
    "laplace",
    "load_plan",
    "moments_epsilon",
    "open_series",
    "rehearsed",
    "release",
    "renyi_divergence",
    "schrodinger",
    "sphere",
    "staircase",
]


def test_public_names():
    assert sorted(leastnoise.__all__) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(leastnoise, name).__doc__, f"{name} has no docstring"


def test_errors_share_one_root():
    for name in PUBLIC:
        if name.endswith("Error"):
            assert issubclass(getattr(leastnoise, name), leastnoise.LeastNoiseError)


def test_every_example_of_the_readme_runs(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n+(?:```text\n(.*?)```)?", text, flags=re.DOTALL)
    assert blocks, "the README has no example"
    for code, printed in blocks:
        exec(compile(code, "README.md", "exec"), {})
        output = capsys.readouterr().out
        if printed:
            assert output.split() == printed.split()
