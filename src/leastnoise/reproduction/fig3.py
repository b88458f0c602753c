"""Fig. 3: two optimised laws, at the published order, at the true optimum of the
moments rule and at the tight optimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leastnoise.designer.design import design
from leastnoise.lattice.resolution import bins_for_divergence
from leastnoise.laws.classic import gaussian
from leastnoise.plots import style
from leastnoise.plots.style import OURS, PUBLISHED
from leastnoise.reproduction import moments
from leastnoise.reproduction.published_run import epsilon, run_published
from leastnoise.reproduction.records import Record, against_method, order_verdict, row, sampled
from leastnoise.reproduction.sweep import DEFAULT, Options
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve

TAIL_RATIO = 0.9999
_SETTING = ("sigma", "compositions", "delta", "order", "step", "last")
PANELS = {
    "left": dict(zip(_SETTING, (4.0, 20, 1e-6, 5.95, 0.01, 8000), strict=True)),
    "right": dict(zip(_SETTING, (2.0, 8, 1e-10, 11.32, 0.01, 4000), strict=True)),
}
AT_PRINTED, AT_MOMENTS = "Rényi optimum at the printed order", "optimum of the moments rule"


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """Both panels, at the printed lattice (a coarser one in the quick form)."""
    panels = {name: _panel(name, quick) for name in PANELS}
    rows, notes = [], []
    for name, panel in panels.items():
        at, laws = PANELS[name], panel["laws"]
        delta = style.power_of_ten(at["delta"])
        head = f"{name} (σ = {at['sigma']:g}, N_c = {int(at['compositions'])}, δ = {delta})"
        order = laws[AT_MOMENTS]["order"]
        found = None if panel["moments_still_falls"] else order
        verdict = order_verdict(found, at["order"], 2, "the printed descent had not arrived")
        beside: Record = {"printed": at["order"], "method": laws[PUBLISHED]["order"]}
        rows.append(row(f"{head}: order α of the moments rule", found, verdict, **beside))
        for quantity, label, key in (
            ("moments ε at the optimum", AT_MOMENTS, "moments"),
            ("tight ε", OURS, "tight"),
        ):
            ours, method = laws[label][key], laws[PUBLISHED][key]
            verdict = against_method(ours, method)
            rows.append(row(f"{head}: {quantity}", ours, verdict, method=method, digits=4))
        run = panel["published"]
        best = f"an order of {order:.0f} gives"
        if found is not None:
            best = f"the best order, {found:.3f}, gives"
        notes.append(
            f"{head}: solved exactly, the printed order gives a moments ε of "
            f"{laws[AT_PRINTED]['moments']:.4f}, {best} {laws[AT_MOMENTS]['moments']:.4f}; "
            f"judged tightly they give {laws[AT_PRINTED]['tight']:.4f} and "
            f"{laws[AT_MOMENTS]['tight']:.4f}, and our design {laws[OURS]['tight']:.4f}. "
            f"Algorithm 3 {'stalls' if run['stalled'] else 'is still moving'} at the order "
            f"{run['order']:.2f} after {run['iterations']:,} iterations, {run['seconds']:.0f} s."
        )
    return {"setting": PANELS, "rows": rows, "panels": panels, "notes": notes}


def _panel(name: str, quick: bool) -> Record:
    at = PANELS[name]
    sigma, n, delta, order = at["sigma"], int(at["compositions"]), at["delta"], at["order"]
    step, last = (0.1, int(at["last"]) // 10) if quick else (at["step"], int(at["last"]))
    m = round(1.0 / step)
    lattice: Record = {"last": last, "tail_ratio": TAIL_RATIO}
    printed = solve(renyi_problem(shift=m, order=order, sigma=sigma / step, **lattice))
    coarse = 1.0 / bins_for_divergence(sigma)
    use: Record = {"sigma": sigma, "delta": delta, "compositions": n}
    rule = moments.optimum(**use, bins=round(1.0 / coarse))
    run = run_published(**use, iterations=40 if quick else 2_000, bins=m, last=last)
    best = design(**use)
    printed_law = moments.law(printed, step)
    laws = {
        "Gaussian": (gaussian(sigma), None, None),
        PUBLISHED: (run.noise, run.result.renyi_order, run.result.moments_epsilon),
        AT_PRINTED: (printed_law, order, moments.value(printed.divergence, order, delta, n)),
        AT_MOMENTS: (moments.law(rule.optimum, coarse), rule.order, rule.epsilon),
        OURS: (best.noise, best.renyi_order, None),
    }
    near = np.arange(0.0, 3.0 * sigma, sigma / 80.0)
    x = np.concatenate([near, np.arange(3.0 * sigma, 12.0 * sigma, sigma / 20.0)])
    return {
        "published": run.described(),
        "moments_still_falls": rule.at_the_end,
        "gap_at_printed_order": printed.gap,
        "step": step,
        "last": last,
        "x": sampled(x),
        "laws": {
            label: {
                "order": alpha,
                "moments": rule_value,
                "tight": epsilon(noise, delta, n),
                "density": sampled(noise.pdf(x), 5),
            }
            for label, (noise, alpha, rule_value) in laws.items()
        },
    }


_COLOURS = {AT_PRINTED: "#009E73", AT_MOMENTS: "#E69F00"}


def draw(record: Record, path: Path) -> None:
    """The densities, linear near zero and logarithmic in the tail."""
    sheet = style.Sheet(2, 2, 11.0, 7.4)
    for column, (name, panel) in enumerate(record["panels"].items()):
        at = PANELS[name]
        near, far = sheet.axes[column], sheet.axes[2 + column]
        for label, law in panel["laws"].items():
            look = style.line(label)
            if label in _COLOURS:
                dashes = (5, 1.5) if label == AT_MOMENTS else (1, 1)
                look = {"color": _COLOURS[label], "linestyle": (0, dashes), "lw": 1.8}
            order = "" if law["order"] is None or label == OURS else f", α = {law['order']:.2f}"
            if label == AT_MOMENTS and panel["moments_still_falls"]:
                order = ", α → ∞"
            named = f"{label}{order}: ε = {law['tight']:.3f}"
            for axes in (near, far):
                axes.plot(panel["x"], law["density"], label=named, **look)
        setting = f"σ = {at['sigma']:g}, {int(at['compositions'])} compositions"
        near.set_title(f"{setting}, δ = {style.power_of_ten(at['delta'])}")
        near.set(ylabel="density (1/s)", xlim=(0, 3 * at["sigma"]))
        near.legend(title="law, order: tight ε", fontsize=7.5)
        far.set(xlabel="noise, in sensitivities", ylabel="density (1/s)")
        far.set(yscale="log", xlim=(0, 12 * at["sigma"]), ylim=(1e-12, 1))
    sheet.save(path)
