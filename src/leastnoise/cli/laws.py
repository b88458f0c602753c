"""Commands on laws: design, compare, account, sample, verify."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.base import domain, json_option, main, print_json, use

if TYPE_CHECKING:
    from leastnoise.designer.design import Design
    from leastnoise.noise import Noise

NAMED = (
    "gaussian",
    "laplace",
    "staircase",
    "cactus",
    "cube",
    "discrete-gaussian",
    "discrete-laplace",
    "discrete-staircase",
)


@main.command()
@use
@click.option("--sigma", type=float, help="Standard deviation of the noise on one answer; the least ε is found.")
@click.option("--epsilon", type=float, help="ε of the guarantee; the least standard deviation is found.")
@domain
@click.option("--objective", type=click.Choice(["tight", "renyi"]), default="tight", show_default=True, help="What is minimised.")
@click.option("--renyi-order", type=float, help="With --objective renyi: the order; without it, the paper's moments rule.")
@click.option("--touched", type=int, help="How many answers of a batch one person can change, if not all.")
@click.option("--step", type=float, help="Pitch of the lattice (real answers); divides the sensitivity.")
@click.option("--out", type=click.Path(dir_okay=False), help="Write the law as a verifiable artefact (exact integer weights).")
@json_option
def design(as_json: bool, out: str | None, **request: Any) -> None:
    """Design the best noise for a standard deviation or for an epsilon.

    \b
    Ten answers one by one, standard deviation 8, the least epsilon:
      leastnoise design --delta 1e-6 --sigma 8 --compositions 10
    Ten answers at once, epsilon 1, the least noise, written for later use:
      leastnoise design --delta 1e-6 --epsilon 1 --batch 10 --out noise.json
    """
    from leastnoise.designer.design import design as make

    best = make(**request)
    written = None
    if out is not None:
        written = _write_artefact(best, out)
    if as_json:
        print_json(_design_as_json(best) | ({"artefact": out, "artefact_epsilon": written} if out else {}))
        return
    click.echo(best.summary())
    if out is not None:
        click.echo(f"  written     {out}, certified at epsilon = {written:.6g}; check it with: leastnoise verify {out}")


@main.command()
@use
@click.option("--sigma", type=float, required=True, help="Standard deviation of the noise on one answer.")
@domain
@json_option
def compare(as_json: bool, **request: Any) -> None:
    """Compare the optimised noise with every known mechanism: ε at equal σ, and the σ each needs for the ε of ours.

    \b
      leastnoise compare --delta 1e-6 --sigma 8 --compositions 10
    """
    from leastnoise.designer.compare import compare as rows_for

    rows = rows_for(**request)
    best = rows[0]
    if as_json:
        laws = [vars(row) for row in rows]
        print_json({"sigma": request["sigma"], "epsilon": best.epsilon_at_sigma, "delta": request["delta"], "laws": laws})
        return
    click.echo(
        f"δ = {request['delta']:g}, {request['compositions']} release(s) of {request['batch']} answer(s), "
        f"sensitivity {request['sensitivity']:g}\n"
    )
    at_sigma, at_epsilon = f"ε at σ = {request['sigma']:g}", f"σ for ε = {best.epsilon_at_sigma:.4g}"
    click.echo(f"{'noise':20} {at_sigma:>14} {at_epsilon:>18}")
    worst = max(row.epsilon_at_sigma for row in rows)
    for row in rows:
        needed = "" if row.sigma_at_epsilon is None else f"{row.sigma_at_epsilon:.5g}"
        bar = "█" * max(1, round(30 * row.epsilon_at_sigma / worst))
        click.echo(f"{row.name:20} {row.epsilon_at_sigma:14.5f} {needed:>18}  {bar}")


@main.command()
@click.argument("law")
@use
@click.option("--sigma", type=float, help="Standard deviation of a named law.")
@click.option("--epsilon", type=float, help="Also give δ at this ε.")
@json_option
def account(law: str, sigma: float | None, epsilon: float | None, as_json: bool, **use: Any) -> None:
    """Judge a law: a saved file, an artefact, or a named one (gaussian, laplace, staircase, cactus, cube, discrete-…).

    \b
      leastnoise account gaussian --sigma 8 --compositions 10 --delta 1e-6
      leastnoise account noise.json --compositions 20 --delta 1e-6
    """
    from leastnoise.privacy.loss import PrivacyLoss

    noise = _law(law, sigma, use["sensitivity"], use["batch"])
    uses = use["compositions"] * (1 if noise.dimension == use["batch"] else -(-use["batch"] // noise.dimension))
    loss = PrivacyLoss.of(noise, use["sensitivity"]).compose(uses)
    lower, upper = loss.epsilon_bounds(use["delta"])
    result: dict[str, Any] = {"law": law, "std": noise.std, "delta": use["delta"], "draws": uses}
    result |= {"epsilon": upper, "epsilon_lower": lower}
    if epsilon is not None:
        below, above = loss.delta_bounds(epsilon)
        result |= {"at_epsilon": epsilon, "delta_at_epsilon": above, "delta_at_epsilon_lower": below}
    if as_json:
        print_json(result)
        return
    click.echo(f"{law}: standard deviation {noise.std:.6g}, {uses} draw(s), sensitivity {use['sensitivity']:g}")
    click.echo(f"  epsilon = {upper:.6g} at delta = {use['delta']:g} (exact value above {lower:.6g})")
    if epsilon is not None:
        click.echo(f"  delta = {result['delta_at_epsilon']:.4g} at epsilon = {epsilon:g}")


@main.command()
@click.argument("law", type=click.Path(exists=True, dir_okay=False))
@click.option("-n", "--count", type=click.IntRange(min=1, max=10_000_000), default=1, show_default=True, help="How many draws.")
@json_option
def sample(law: str, count: int, as_json: bool) -> None:
    """Draw noise exactly from an artefact or a saved law, with the operating system's entropy.

    One line a draw; joint laws print one number per answer, separated by spaces.

    \b
      leastnoise sample noise.json -n 5
    """
    import numpy as np

    draws = np.asarray(_law(law, None, 1.0, 1).sample(count))
    if as_json:
        print_json({"law": law, "noise": draws.tolist()})
        return
    for row in draws.reshape(count, -1):
        click.echo(" ".join(str(value) for value in row.tolist()))


@main.command()
@click.argument("artefact", type=click.Path(dir_okay=False))
@json_option
def verify(artefact: str, as_json: bool) -> None:
    """Recompute the guarantee of an artefact from its integer weights alone; exit 1 if anything does not match.

    \b
      leastnoise verify noise.json
    """
    from leastnoise.artefact import verify as check

    found = check(artefact)
    if as_json:
        print_json(
            {
                "artefact": artefact,
                "ok": found.ok,
                "stated_epsilon": None if found.stated is None else found.stated.epsilon,
                "recomputed_epsilon": None if found.recomputed is None else found.recomputed.epsilon,
                "mismatches": list(found.mismatches),
            }
        )
    else:
        if found.stated is not None:
            click.echo(f"stated      epsilon = {found.stated.epsilon!r} at delta = {found.stated.delta!r}")
        if found.recomputed is not None:
            click.echo(f"recomputed  epsilon = {found.recomputed.epsilon!r} at delta = {found.recomputed.delta!r}")
        for mismatch in found.mismatches:
            click.echo(f"mismatch    {mismatch}")
        click.echo("verified" if found.ok else "NOT VERIFIED")
    if not found.ok:
        raise SystemExit(1)


def _law(law: str, sigma: float | None, sensitivity: float, batch: int) -> Noise:
    """A named law at sigma, or the law in a file (artefact or saved noise)."""
    from leastnoise.errors import InvalidParameterError

    if law in NAMED:
        if sigma is None:
            raise InvalidParameterError("--sigma", sigma, f"to be given for the named law {law}")
        from leastnoise import classic
        from leastnoise.designer.cactus import cactus

        builders: Mapping[str, Callable[[float], Noise]] = {
            "gaussian": classic.gaussian,
            "laplace": classic.laplace,
            "staircase": lambda s: classic.staircase(s, sensitivity=sensitivity),
            "cactus": lambda s: cactus(s, sensitivity=sensitivity),
            "cube": lambda s: classic.cube(s, batch, sensitivity=sensitivity),
            "discrete-gaussian": classic.discrete_gaussian,
            "discrete-laplace": classic.discrete_laplace,
            "discrete-staircase": lambda s: classic.staircase(s, sensitivity=sensitivity, domain="integer"),
        }
        return builders[law](sigma)
    if sigma is not None:
        raise InvalidParameterError("--sigma", sigma, "to be left out: a saved law has its own")
    from leastnoise.artefact import FORMAT, read_artefact
    from leastnoise.storage import file_format, load

    return read_artefact(law).noise if file_format(law) == FORMAT else load(law)


def _write_artefact(best: Design, out: str) -> float:
    """The design's law with exact integer weights, certified anew and written; returns the certified ε."""
    from leastnoise.artefact import certify, write_artefact
    from leastnoise.sampling import exact

    law = exact(best.lattice_noise(), delta=best.delta, sensitivity=best.sensitivity, compositions=best.uses)
    problem = {
        "sigma": best.sigma,
        "batch": best.batch,
        "touched": best.touched,
        "compositions": best.compositions,
        "objective": best.objective,
    }
    artefact = certify(
        law,
        delta=best.delta,
        compositions=best.uses,
        sensitivity=best.sensitivity,
        rivals=dict(best.rivals),
        problem=problem,
    )
    write_artefact(artefact, out)
    return artefact.guarantee.epsilon


def _design_as_json(best: Design) -> dict[str, Any]:
    fields = (
        *("epsilon", "epsilon_lower", "delta", "sigma", "sensitivity", "compositions", "batch", "objective", "origin"),
        *("renyi_order", "gap", "status", "discretisation", "moments_epsilon", "is_joint", "uses"),
    )
    found = {name: getattr(best, name) for name in fields}
    return found | {"std": best.noise.std, "half_width_95": best.noise.interval(0.95), "rivals": dict(best.rivals)}
