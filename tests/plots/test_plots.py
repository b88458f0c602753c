"""Pictures: what is drawn is what the package's functions return, on the axes that were given."""

import itertools
import math
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

from leastnoise import (
    Box,
    Euclidean,
    OneSided,
    PrivacyLoss,
    cube,
    design,
    discrete_gaussian,
    discrete_laplace,
    frontier,
    gaussian,
    laplace,
    plots,
    staircase,
)
from leastnoise.designer.compare import ComparedLaw, compare
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.optional import installing
from leastnoise.plots import style
from leastnoise.plots.curves import release_counts
from leastnoise.plots.laws import loss_tail
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.text.numbers import above

DELTA = 1e-6


@pytest.fixture(scope="module")
def best():
    return design(delta=DELTA, sigma=8.0, compositions=10)


@pytest.fixture(scope="module")
def joint():
    return design(delta=DELTA, sigma=4.0, batch=3)


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    assert pyplot.get_fignums() == []


def lines(ax):
    """Every labelled line of the axes, as (x, y)."""
    return {
        line.get_label(): line.get_xydata().T
        for line in ax.get_lines()
        if not line.get_label().startswith("_")
    }


def released(kinds=("mean", "mean"), groups=("", ""), factor=2.0):
    statistics = tuple(
        Statistic(
            kind,
            name=f"s{i}",
            column="x",
            lower=0,
            upper=10 * (i + 1),
            pitch=1,
            missing=1,
            public_n=100,
        )
        if kind == "mean"
        else Statistic("count", name=f"s{i}")
        for i, kind in enumerate(kinds)
    )
    plan = Plan("made", None, "replace", statistics, 1.0, DELTA, one_row_per_person=True)
    rows = tuple(
        ReleasedRow(f"s{i}", kind, group, 4.0, 0.5, 1.0)
        for i, (kind, group) in enumerate(zip(kinds, groups, strict=True))
    )
    mechanism = SimpleNamespace(gaussian_factor=factor)
    return SimpleNamespace(plan=plan, rows=rows, mechanism=mechanism, epsilon=1.0, delta=DELTA)


PICTURES = {
    "density": lambda best, ax: plots.density(best, ax=ax),
    "density, log": lambda best, ax: plots.density(best, log=True, ax=ax),
    "privacy_curves": lambda best, ax: plots.privacy_curves(best, deltas=(1e-8, 1e-6, 1e-4), ax=ax),
    "epsilon_by_compositions": lambda best, ax: plots.epsilon_by_compositions(best, most=5, ax=ax),
    "privacy_loss": lambda best, ax: plots.privacy_loss(best, ax=ax),
    "sigma_by_epsilon": lambda best, ax: plots.sigma_by_epsilon(
        delta=DELTA, sigmas=[4.0, 8.0], ax=ax
    ),
    "batch_comparison": lambda best, ax: plots.batch_comparison(
        delta=DELTA, sigma=8.0, batches=(1, 5), ax=ax
    ),
    "comparison": lambda best, ax: plots.comparison(
        [ComparedLaw("optimised", 1.0, 8.0), ComparedLaw("Gaussian", 1.2, 9.0)], ax=ax
    ),
    "error_bars": lambda best, ax: plots.error_bars([1.0, 2.0], best.noise, ax=ax),
    "release_bars": lambda best, ax: plots.release_bars(released(), ax=ax),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_draws_on_the_axes_given(name, best, ax):
    drawn = PICTURES[name](best, ax)
    assert drawn is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel() or ax.get_yticklabels()[0].get_text()
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_makes_axes_that_close(name, best):
    before = dict(matplotlib.rcParams)
    made = PICTURES[name](best, None)
    assert pyplot.get_fignums() == [made.figure.number]
    pyplot.close(made.figure)
    assert dict(matplotlib.rcParams) == before


def test_density_is_the_density(best, ax):
    found = lines(plots.density(best, ax=ax))
    assert list(found)[-1] == "optimised"
    assert {"Gaussian", "Laplace", "Staircase", "Cactus"} < set(found)
    for name, law in {
        "optimised": best.noise,
        "Gaussian": gaussian(8.0),
        "Laplace": laplace(8.0),
        "Staircase": staircase(8.0),
    }.items():
        x, y = found[name]
        assert y == pytest.approx(law.pdf(x), rel=1e-12)
        assert x[0] == -x[-1] == pytest.approx(-float(best.noise.quantile(1e-3, upper=True)))


def test_logarithmic_density_is_positive(best, ax):
    plots.density(best, log=True, ax=ax)
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] > 0
    for x, y in lines(ax).values():
        assert np.all(y > 0)
        assert x.size > 500


@pytest.mark.parametrize("log", [False, True])
def test_integers_have_probabilities(ax, log):
    laws = {"discrete Gaussian": discrete_gaussian(3.0), "discrete Laplace": discrete_laplace(3.0)}
    found = lines(plots.density(laws, log=log, ax=ax))
    assert ax.get_ylabel() == "probability of each integer"
    for name, (x, y) in found.items():
        assert np.array_equal(x, np.round(x))
        assert y == pytest.approx(laws[name].pmf(np.abs(x).astype(int)), rel=1e-9)


def test_wide_integer_laws_are_thinned(ax):
    x, y = lines(plots.density(discrete_gaussian(5_000.0), ax=ax))["noise"]
    assert x.size <= 2_001
    assert y == pytest.approx(discrete_gaussian(5_000.0).pmf(np.abs(x).astype(int)), rel=1e-9)


def test_a_joint_law_shows_the_noise_on_one_answer(joint, ax):
    x, y = lines(plots.density(joint, ax=ax))[joint.origin]
    assert y == pytest.approx(joint.noise.pdf(x), rel=1e-12)
    assert "sphere" in lines(ax)


def test_privacy_curves_are_the_judges(best, ax):
    deltas = (1e-8, 1e-6, 1e-4)
    found = lines(plots.privacy_curves(best, deltas=deltas, ax=ax))
    own = next(xy for label, xy in found.items() if label.startswith("optimised"))
    loss = PrivacyLoss.of(best.noise, 1.0).compose(10)
    assert own[0] == pytest.approx([loss.epsilon(delta) for delta in deltas])
    assert own[1] == pytest.approx(deltas)
    assert f"optimised: ε = {above(best.epsilon)}" in found
    assert f"Gaussian: ε = {above(best.rivals['Gaussian'])}" in found
    assert ax.get_ylabel() == "δ(ε) after 10 releases"


def test_a_joint_design_counts_draws(joint, ax):
    found = lines(plots.privacy_curves(joint, deltas=(1e-6, 1e-5), ax=ax))
    assert f"Gaussian: ε = {above(joint.rivals['Gaussian'])}" in found
    assert f"{joint.origin}: ε = {above(joint.epsilon)}" in found


def test_epsilon_by_compositions(ax):
    found = lines(
        plots.epsilon_by_compositions(
            {"Gaussian": gaussian(8.0)}, delta=DELTA, most=3, sensitivity=2.0, ax=ax
        )
    )
    expected = [PrivacyLoss.of(gaussian(8.0), 2.0).compose(n).epsilon(DELTA) for n in (1, 2, 3)]
    assert found["Gaussian"][0].tolist() == [1, 2, 3]
    assert found["Gaussian"][1] == pytest.approx(expected)
    assert release_counts(100)[0] == 1
    assert release_counts(100)[-1] == 100
    assert release_counts(1) == [1]


def test_sigma_by_epsilon(ax):
    found = lines(plots.sigma_by_epsilon(delta=DELTA, sigmas=[4.0, 8.0], compositions=10, ax=ax))
    made = [design(delta=DELTA, sigma=sigma, compositions=10) for sigma in (4.0, 8.0)]
    assert found["our design"][0] == pytest.approx([each.epsilon for each in made])
    assert found["our design"][1].tolist() == [4.0, 8.0]
    assert found["Laplace"][0] == pytest.approx([each.rivals["Laplace"] for each in made])
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_loss_tail_of_the_laplace_law():
    x, y = loss_tail(laplace(1.0), 1.0)
    ratio = np.sqrt(2.0)  # sensitivity over scale: the largest loss, with probability one half
    assert y[(x > -ratio + 0.01) & (x < ratio - 0.01)].min() >= 0.5 - 1e-9
    assert np.all(y[x > ratio] == 1e-9)
    assert y[0] == pytest.approx(1.0)
    assert np.all(np.diff(y) <= 1e-15)


def test_loss_tail_of_the_gaussian_law():
    from scipy.stats import norm

    x, y = loss_tail(gaussian(2.0), 1.0)  # normal with deviation 1/2 and mean 1/8
    inside = y > 1e-8
    # The judge's table rounds each loss to a neighbour on its grid: the exact tail lies between
    # those one cell away.
    cell = (x[-1] / 1.05) / 400.0
    assert np.all(y[inside] <= norm.sf((x[inside] - cell - 0.125) / 0.5) * (1 + 1e-6))
    assert np.all(y[inside] >= norm.sf((x[inside] + cell - 0.125) / 0.5) * (1 - 1e-6))


def test_loss_of_several_laws_is_drawn(ax):
    found = lines(plots.privacy_loss({"cube": cube(4.0, 3), "Gaussian": gaussian(4.0)}, ax=ax))
    assert set(found) == {"cube", "Gaussian"}
    assert all(np.all(y > 0) for _, y in found.values())


def test_batches(ax):
    found = lines(plots.batch_comparison(delta=DELTA, sigma=8.0, batches=(1, 5), ax=ax))
    together = [design(delta=DELTA, sigma=8.0, batch=d) for d in (1, 5)]
    alone = [design(delta=DELTA, sigma=8.0, compositions=d) for d in (1, 5)]
    assert found["our design, all together"][1] == pytest.approx(
        [best.epsilon for best in together]
    )
    assert found["our design, one by one"][1] == pytest.approx([best.epsilon for best in alone])
    assert found["Gaussian noise on each"][1] == pytest.approx(
        [best.rivals["Gaussian"] for best in together]
    )
    saved = 1.0 - together[1].epsilon / together[1].rivals["Gaussian"]
    assert f"−{100 * saved:.0f} %" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("by", ["epsilon", "sigma"])
def test_comparison_bars(ax, by):
    rows = [*compare(delta=DELTA, sigma=8.0), ComparedLaw("unreachable", float("inf"), None)]
    plots.comparison(rows, by=by, ax=ax)
    expected = [row.epsilon_at_sigma if by == "epsilon" else row.sigma_at_epsilon for row in rows]
    drawn = [bar.get_width() for bar in ax.patches]
    assert drawn == pytest.approx(
        [value if np.isfinite(value) else 0.0 for value in expected if value is not None]
    )
    assert ax.get_yticklabels()[0].get_text() == rows[0].name
    said = [text.get_text() for text in ax.texts]
    assert ("infinite: no guarantee at this δ" in said) == (by == "epsilon")


def test_ticks_with_many_digits_do_not_touch():
    sheet = plots.design_sheet(design(delta=DELTA, sigma=1500.0, compositions=3))
    sheet.figure.draw_without_rendering()
    boxes = [tick.label1.get_window_extent() for tick in sheet.axes[2].xaxis.get_major_ticks()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_a_pure_law_drops_inside_the_frame(ax):
    plots.privacy_curves(laplace(3.0), delta=DELTA, ax=ax)
    ((x, _),) = lines(ax).values()
    assert 1.01 * max(x) < ax.get_xlim()[1]


def test_a_law_that_can_reveal_everything_is_drawn(ax):
    """Uniform on 11 integers: 1 of 11 draws shows which of two neighbours it was."""
    uniform = LatticeNoise.from_weights([1.0] * 6, None, domain="integer")
    found = lines(plots.privacy_loss(uniform, ax=ax))["noise"]
    assert found[1][-1] == pytest.approx(1 / 11)
    ax.clear()
    plots.epsilon_by_compositions(
        {"uniform": uniform, "Laplace": laplace(3.0)}, delta=DELTA, most=3, ax=ax
    )
    assert ax.get_legend_handles_labels()[1] == ["uniform: infinite", "Laplace"]


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plots.comparison([]), "rows"),
        (lambda: plots.comparison([ComparedLaw("a", 1.0, None)], by="sigma"), "rows"),
        (lambda: plots.sigma_by_epsilon(delta=DELTA, sigmas=[]), "sigmas"),
        (lambda: plots.batch_comparison(delta=DELTA, sigma=8.0, batches=[]), "batches"),
        (lambda: plots.privacy_curves(laplace(3.0), deltas=[]), "deltas"),
        (lambda: plots.epsilon_by_compositions(laplace(3.0), delta=DELTA, most=0), "most=0"),
        (lambda: plots.density("gaussian"), "laws='gaussian'"),
    ],
)
def test_nothing_to_draw_is_refused(draw, words):
    with pytest.raises(InvalidParameterError, match=words):
        draw()


def test_dollar_signs_in_names_are_letters(ax):
    plots.error_bars([1.0, 2.0], gaussian(1.0), names=["$5$ or less", "b" * 60], ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        r"\$5\$ or less",
        "b" * 39 + "…",
    ]


def test_error_bars_are_the_interval(best, ax):
    plots.error_bars([120.0, 34.0], best.noise, names=["a", "b"], confidence=0.9, ax=ax)
    (container,) = ax.containers
    ends = [np.asarray(segment)[:, 0] for segment in container.lines[2][0].get_segments()]
    half = best.noise.interval(0.9)
    assert ends[0] == pytest.approx([120.0 - half, 120.0 + half])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_release_bars_of_means_lie_between_their_bounds(ax):
    plots.release_bars(released(), true={("s0", ""): 5.0}, ax=ax)
    _, container = ax.containers
    assert container.lines[0].get_xdata() == pytest.approx(
        [40.0, 20.0]
    )  # 4 of 10, 4 of 20, in percent
    ends = [np.asarray(segment)[:, 0] for segment in container.lines[2][0].get_segments()]
    assert ends[0] == pytest.approx([30.0, 50.0])
    assert ax.patches[0].get_width() == pytest.approx(2 * 10 * gaussian(2.0 * 0.5).interval(0.95))
    assert lines(ax)["true value (public data)"][0].tolist() == [50.0]
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["4.0 ± 1.0", "4.0 ± 1.0"]
    assert "bounds" in ax.get_xlabel()


def test_a_release_of_one_statistic_is_in_its_own_units(ax):
    one = released(kinds=("count",), groups=("",))
    plots.release_bars(one, ax=ax)
    assert ax.get_xlabel() == "s0 (units of the answer)"
    assert ax.containers[1].lines[0].get_xdata().tolist() == [4.0]


def test_long_releases_are_cut_and_say_so(ax):
    many = released(kinds=("count",) * 70, groups=("",) * 70)
    plots.release_bars(many, ax=ax)
    assert len(ax.get_yticks()) == 60
    assert "10 more not shown" in ax.get_title(loc="right")


def test_names_are_text_and_not_mathematics(ax):
    made = released()
    odd = [ReleasedRow("$x_1$ and $", "mean", "", 4.0, 0.5, 1.0)]
    plots.release_bars(SimpleNamespace(**{**vars(made), "rows": tuple(odd)}), ax=ax)
    ax.figure.canvas.draw()
    assert ax.get_yticklabels()[0].get_text().count(r"\$") == 3
    sheet = plots.account_sheet(
        "$a_$^$.json" + 50 * "x", gaussian(8.0), delta=DELTA, sensitivity=1.0, draws=1
    )
    sheet.figure.canvas.draw()
    assert sheet.figure.get_suptitle().startswith(r"\$a_\$^\$.json")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".PNG"])
def test_sheets_are_saved_by_their_suffix_and_are_the_same_every_time(best, tmp_path, suffix):
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    rows = [
        ComparedLaw("optimised", best.epsilon, 8.0),
        *(ComparedLaw(name, e, None) for name, e in best.rivals.items()),
    ]
    paths = [tmp_path / f"{i}{suffix}" for i in range(2)]
    for path in paths:
        plots.compare_sheet(rows, sigma=8.0, delta=DELTA).save(path)
    assert paths[0].read_bytes().startswith(starts[suffix.lower()])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_whole_pictures(best, joint, tmp_path):
    made = [
        plots.design_sheet(best),
        plots.design_sheet(joint),
        plots.account_sheet(
            "discrete-gaussian", discrete_gaussian(3.0), delta=DELTA, sensitivity=1.0, draws=3
        ),
        plots.release_sheet(released()),
    ]
    for i, sheet in enumerate(made):
        sheet.save(tmp_path / f"{i}.png")
        assert (tmp_path / f"{i}.png").stat().st_size > 10_000
    assert f"ε = {above(best.epsilon)}" in made[0].figure.get_suptitle()


def test_colours_and_dashes_tell_laws_apart():
    names = ["Gaussian", "Laplace", "Staircase", "Cactus", "cube", "sphere", "optimised"]
    assert len({style.COLOURS[name] for name in names}) == len(names)
    assert len({str(style.line(name)["linestyle"]) for name in names}) == len(names)
    assert len({style.marked(name)["marker"] for name in names}) == len(names)
    for spelled in ("discrete Gaussian", "discrete-gaussian", "gaussian"):
        assert style.line(spelled) == style.line("Gaussian")


@pytest.mark.parametrize(
    ("value", "text"), [(1e-6, "10⁻⁶"), (1e-10, "10⁻¹⁰"), (2e-6, "2e-06"), (1.0, "10⁰")]
)
def test_powers_of_ten(value, text):
    assert style.power_of_ten(value) == text


def test_what_cannot_be_drawn_is_refused(best, tmp_path, ax):
    for path, words in (
        (tmp_path / "x.gif", "to end in"),
        (tmp_path / "no" / "x.png", "folder that exists"),
        (tmp_path, "to end in"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            plots.check_picture(path)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InvalidParameterError, match="not a folder"):
        plots.check_picture(tmp_path / "folder.png")
    with pytest.raises(InvalidParameterError, match="delta"):
        plots.epsilon_by_compositions(best.noise, ax=ax)
    with pytest.raises(InvalidParameterError, match="laws"):
        plots.density({}, ax=ax)
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        plots.density(best, sensitivity=2.0, ax=ax)
    with pytest.raises(InvalidParameterError, match="by="):
        plots.comparison([], by="variance", ax=ax)
    with pytest.raises(InvalidParameterError, match="names"):
        plots.error_bars([1.0, 2.0], best.noise, names=["one"], ax=ax)


def test_without_matplotlib_the_extra_is_named(monkeypatch, best):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(UnsupportedError, match=re.escape(installing("plots"))):
        plots.density(best)
    with pytest.raises(UnsupportedError, match=re.escape(installing("plots"))):
        plots.Sheet(1, 1, 4.0, 3.0)


def test_matplotlib_is_imported_where_it_is_used():
    code = "import sys, leastnoise.plots; print('matplotlib' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout.strip() == "False"


def test_the_pictures_of_the_readme(tmp_path, monkeypatch):
    from leastnoise.plots import __main__ as script

    monkeypatch.setattr(script, "BATCHES", (1, 5))
    monkeypatch.setattr(script, "ANSWERS", 3)
    monkeypatch.setattr(script, "POINTS", 2)
    script.main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "batch.png",
        "batch.svg",
        "frontier.png",
        "frontier.svg",
        "law-vs-rivals.png",
        "law-vs-rivals.svg",
        "recognised.png",
        "recognised.svg",
    ]


def test_members_recognised_are_the_curves_own_bounds(ax):
    laws = {"Gaussian": gaussian(5.0), "Laplace": laplace(5.0)}
    drawn = lines(plots.recognised_members(laws, compositions=4, ax=ax))
    for name, law in laws.items():
        curve = PrivacyLoss.of(law).compose(4).curve(delta=1e-9, points=200)
        label = next(each for each in drawn if each.startswith(name))
        rates, found = (np.asarray(each) for each in drawn[label])
        assert found == pytest.approx(curve.true_positive_rate(rates))
        assert f"{100 * curve.success():.0f}"[:2] in label


# What one person can change


@pytest.fixture(
    scope="module", params=[(10, OneSided()), (40, OneSided()), (20, Euclidean(2.0)), (60, Box(30))]
)
def fitted(request):
    """Noise fitted to less than everything: the range, correlated, and two spheres."""
    batch, changes = request.param
    return design(delta=DELTA, sigma=16.0, batch=batch, changes=changes)


def test_curves_of_a_design_are_for_its_own_space(fitted, ax):
    drawn = lines(plots.privacy_curves(fitted, deltas=[DELTA, 1e-4], delta=DELTA, ax=ax))
    own = {label.split(":")[0]: x for label, (x, _) in drawn.items()}
    loss = PrivacyLoss.of(fitted.noise, 1.0, fitted.changes)
    assert list(own[fitted.origin]) == [loss.epsilon(DELTA), loss.epsilon(1e-4)]
    for name, epsilon in fitted.rivals.items():
        if name != fitted.origin and name in own:
            assert own[name][0] == pytest.approx(epsilon, rel=1e-9)


def test_pictures_of_a_fitted_design_are_drawn(fitted, tmp_path):
    plots.design_sheet(fitted).save(tmp_path / "design.svg")
    assert "if one person moves" in (tmp_path / "design.svg").read_text(encoding="utf-8")
    for log in (False, True):
        assert plots.density(fitted, log=log, ax=Figure().subplots()).get_lines()
    assert plots.privacy_loss(fitted, ax=Figure().subplots()).get_lines()
    assert plots.epsilon_by_compositions(fitted, most=3, ax=Figure().subplots()).get_lines()
    bars = plots.error_bars([1.0, 2.0], fitted.noise, ax=Figure().subplots())
    assert bars.get_legend() is not None


def test_a_law_is_judged_for_the_changes_that_are_given(fitted, tmp_path, ax):
    use = {"delta": DELTA, "sensitivity": 1.0, "draws": 1}
    sheet = plots.account_sheet("law", fitted.noise, **use, changes=fitted.changes)
    sheet.save(tmp_path / "law.svg")
    assert fitted.changes.condition(fitted.batch) in (tmp_path / "law.svg").read_text("utf-8")
    found = lines(
        plots.epsilon_by_compositions(
            fitted.noise, delta=DELTA, most=1, changes=fitted.changes, ax=ax
        )
    )
    assert found["noise"][1][0] == fitted.epsilon
    _, tail = loss_tail(fitted.noise, 1.0, fitted.changes)
    assert np.all(np.diff(tail) <= 0.0)
    assert 1e-9 <= tail[-1] < 1e-8


def test_noise_for_one_sided_changes_is_not_drawn_for_the_box(ax):
    law = design(delta=DELTA, sigma=16.0, batch=10, changes=OneSided()).noise
    for draw in (plots.privacy_curves, plots.privacy_loss):
        with pytest.raises(UnsupportedError, match="all up or all down"):
            draw(law, ax=ax)
    with pytest.raises(UnsupportedError, match="all up or all down"):
        plots.account_sheet("law", law, delta=DELTA, sensitivity=1.0, draws=1)


def test_a_design_has_its_changes_already(best, ax):
    for draw in (plots.privacy_curves, plots.privacy_loss, plots.epsilon_by_compositions):
        with pytest.raises(InvalidParameterError, match="changes"):
            draw(best, changes=OneSided(), ax=ax)


@pytest.mark.parametrize("changes", [OneSided(touched=2), Box(touched=2)])
def test_sigma_by_epsilon_is_for_the_changes_given(changes, ax):
    use = {"delta": DELTA, "batch": 4, "changes": changes}
    found = lines(plots.sigma_by_epsilon(sigmas=[4.0], ax=ax, **use))
    best = design(sigma=4.0, **use)
    assert found["our design"][0] == pytest.approx([best.epsilon])
    law = "count" if changes.is_one_sided else "touched"
    assert found[law][0] == pytest.approx([best.rivals[law]])
    assert "one person moves at most 2 answers" in ax.get_title()
    assert ("all up or all down" in ax.get_title()) == changes.is_one_sided


@pytest.mark.parametrize(
    ("changes", "gaussian"), [(OneSided(touched=2), "correlated Gaussian"), (Box(2), "Gaussian")]
)
def test_batches_are_for_the_changes_given(changes, gaussian, ax):
    found = lines(
        plots.batch_comparison(delta=DELTA, sigma=8.0, batches=(2, 6), changes=changes, ax=ax)
    )
    made = [design(delta=DELTA, sigma=8.0, batch=d, changes=changes) for d in (2, 6)]
    assert found["our design, all together"][1] == pytest.approx([each.epsilon for each in made])
    alone = design(delta=DELTA, sigma=8.0, compositions=2).epsilon
    assert found["our design, one by one"][1] == pytest.approx([alone, alone])
    assert ("Gaussian noise, correlated" in found) == changes.is_one_sided
    saved = 1.0 - made[1].epsilon / made[1].rivals[gaussian]
    assert f"−{100 * saved:.0f} %" in [text.get_text() for text in ax.texts]
    assert "at most 2 answers" in ax.get_title()


def test_batches_of_a_length_have_no_line_for_one_by_one(ax):
    use = {"delta": DELTA, "sigma": 8.0, "changes": Euclidean(2.0)}
    found = lines(plots.batch_comparison(batches=(2, 5), ax=ax, **use))
    assert set(found) == {"Gaussian noise on each", "our design, all together"}
    assert "by at most 2 sensitivities in all" in ax.get_title()


def test_the_laws_of_one_sided_changes_have_looks_of_their_own():
    names = (
        "correlated sphere",
        "correlated Gaussian",
        "lifted cube",
        "range",
        "count",
        "touched",
        "cube",
        "sphere",
        "Gaussian",
    )
    looks = {name: str(style.line(name)) for name in names}
    assert len(set(looks.values())) == len(names)
    assert style.family("correlated-sphere") == "correlated sphere"


def test_the_frontier_is_drawn_in_steps_that_hold(ax):
    points = frontier(epsilon=1.0, delta=DELTA, advantages=[0.4, 0.3, 0.2])
    drawn = {one.get_label(): one for one in plots.frontier_curve(points, ax=ax).lines}
    assert {"Gaussian", style.OURS, "no noise is below"} <= set(drawn)
    ours = drawn[style.OURS]
    assert ours.get_drawstyle() == "steps-post"  # what keeps a cap keeps every larger one
    assert list(ours.get_xdata()) == [0.2, 0.3, 0.4]
    assert list(ours.get_ydata()) == [point.sigma for point in reversed(points)]
    bound = drawn["no noise is below"]
    caps, values = np.array(bound.get_xdata()), np.array(bound.get_ydata())
    for cap in np.linspace(0.2001, 0.3999, 37):
        at = values[np.searchsorted(caps, cap, side="right") - 1]
        whole = math.floor(1.0 / cap)
        assert at == pytest.approx(math.sqrt((whole**2 - 1) / 12.0), rel=1e-9), cap
    with pytest.raises(InvalidParameterError, match="points"):
        plots.frontier_curve([], ax=ax)
    sheet = plots.frontier_sheet(points, epsilon=1.0, delta=DELTA)
    assert sheet.axes[0].get_title() == "ε = 1 at δ = 10⁻⁶, 1 release of 1 answer"
    narrow = Figure(figsize=(3.0, 4.0)).subplots()
    assert plots.frontier_curve(points, ax=narrow).get_legend()._ncols == 1
