"""The three data sets of the paper's Table 1 as CSV files, with a plan of ten means each."""

from pathlib import Path

import pytest

from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import CsvFile
from leastnoise.releases.plan.statistic import Statistic

HEART = Path(__file__).resolve().parents[3] / "shared" / "data" / "processed.cleveland.data"
HEART_COLUMNS = (
    "age",
    "sex",
    "cp",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
    "num",
)

# Bounds for tests and benchmarks: plausible ranges, not computed from the tables. (lower, upper,
# pitch)
BOUNDS: dict[str, dict[str, tuple[float, float, float]]] = {
    "breast_cancer": {
        "mean radius": (5, 30, 0.01),
        "mean texture": (5, 40, 0.01),
        "mean perimeter": (40, 200, 0.1),
        "mean area": (100, 2000, 1),
        "mean smoothness": (0.05, 0.2, 0.0001),
        "mean compactness": (0, 0.4, 0.0001),
        "mean concavity": (0, 0.5, 0.0001),
        "mean concave points": (0, 0.2, 0.0001),
        "mean symmetry": (0.1, 0.3, 0.0001),
        "mean fractal dimension": (0.04, 0.1, 0.00001),
    },
    "diabetes": dict.fromkeys(
        ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"], (-0.15, 0.15, 0.0001)
    ),
    "heart": {
        "age": (20, 90, 1),
        "sex": (0, 1, 1),
        "trestbps": (80, 200, 1),
        "chol": (100, 450, 1),
        "fbs": (0, 1, 1),
        "restecg": (0, 2, 1),
        "thalach": (60, 210, 1),
        "exang": (0, 1, 1),
        "oldpeak": (0, 6.5, 0.1),
        "ca": (0, 3, 1),
    },
}
SIGNS = {
    "male": ("sex", lambda x: x == 1),
    "over 60": ("age", lambda x: x > 60),
    "typical angina": ("cp", lambda x: x == 1),
    "no pain": ("cp", lambda x: x == 4),
    "high sugar": ("fbs", lambda x: x == 1),
    "heart rhythm not normal": ("restecg", lambda x: x > 0),
    "angina on exercise": ("exang", lambda x: x == 1),
    "vessels coloured": ("ca", lambda x: x > 0),
    "defect": ("thal", lambda x: x > 3),
    "disease": ("num", lambda x: x > 0),
}
SIZES = {"breast_cancer": 569, "diabetes": 442, "heart": 303}


def heart_patients():
    """The heart table in memory, as numbers; a value that is not known is null."""
    pa = pytest.importorskip("pyarrow")
    if not HEART.exists():
        pytest.skip("the heart data set is not beside the repository")
    lines = [line.split(",") for line in HEART.read_text(encoding="utf-8").split()]
    columns = zip(
        *([None if cell == "?" else float(cell) for cell in line] for line in lines), strict=True
    )
    return pa.table(
        {
            name: pa.array(column, pa.float64())
            for name, column in zip(HEART_COLUMNS, columns, strict=True)
        }
    )


def heart_signs():
    """Ten questions to each of the 303 heart patients, 1 for yes and 0 for no; what is not known is
    null."""
    pa = pytest.importorskip("pyarrow")
    patients = heart_patients()
    return pa.table(
        {
            sign: [None if x is None else int(is_so(x)) for x in patients[column].to_pylist()]
            for sign, (column, is_so) in SIGNS.items()
        }
    )


def source(name, folder):
    """The data set as a CSV file in `folder`; heart is used where it lies, without a header and
    with '?' for missing values, and a test that wants it is skipped where it is not."""
    if name == "heart":
        if not HEART.exists():
            pytest.skip("the heart data set is not beside the repository")
        return CsvFile(str(HEART), columns=HEART_COLUMNS)
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")()
    path = Path(folder) / f"{name}.csv"
    lines = [
        ",".join(loaded.feature_names),
        *(",".join(map(repr, row)) for row in loaded.data.tolist()),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return CsvFile(str(path))


def plan(name, folder, epsilon=1.05, delta=1e-6, bounds=None):
    """Ten means of a table whose size is public: one row is one person, and a person may be
    replaced."""
    means = tuple(
        Statistic(
            "mean",
            name=column,
            column=column,
            lower=low,
            upper=high,
            pitch=pitch,
            missing=(low + high) / 2,
            public_n=SIZES[name],
        )
        for column, (low, high, pitch) in (bounds or BOUNDS[name]).items()
    )
    return Plan(
        name, source(name, folder), "replace", means, epsilon, delta, one_row_per_person=True
    )
