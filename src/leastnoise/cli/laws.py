"""Commands on laws: design, compare, account, sample, verify. Adding noise to answers is `perturb`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.base import (
    DASH,
    NUMBER,
    domain,
    json_option,
    main,
    not_both_on_stdout,
    out_option,
    print_json,
    use,
    use_of_a_law,
    write_out,
)
from leastnoise.cli.pictures import plot_option
from leastnoise.cli.tables import print_comparison
from leastnoise.digits import above, below
from leastnoise.texts import shown

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from leastnoise.artefact import Guarantee
    from leastnoise.designer.design import Design
    from leastnoise.noise import Noise

NAMED = (
    "gaussian",
    "laplace",
    "staircase",
    "cactus",
    "cube",
    "sphere",
    "discrete-gaussian",
    "discrete-laplace",
    "discrete-staircase",
)


@main.command()
@use
@click.option(
    "--sigma",
    type=NUMBER,
    help="Standard deviation of the noise on one answer; the least ε is found.",
)
@click.option(
    "--epsilon", type=NUMBER, help="ε of the guarantee; the least standard deviation is found."
)
@domain
@click.option(
    "--objective",
    type=click.Choice(["tight", "renyi"]),
    default="tight",
    show_default=True,
    help="What is minimised.",
)
@click.option(
    "--renyi-order",
    type=NUMBER,
    help="With --objective renyi: the order; without it, the paper's moments rule.",
)
@click.option(
    "--touched", type=int, help="How many answers of a batch one person can change, if not all."
)
@click.option(
    "--step", type=NUMBER, help="Pitch of the lattice (real answers); divides the sensitivity."
)
@out_option("Write the law as a verifiable artefact (exact integer weights).")
@plot_option
@json_option
def design(as_json: bool, out: str | None, plot: str | None, **request: Any) -> None:
    """Design the best noise for a standard deviation or for an epsilon.

    \b
    Ten answers one by one, standard deviation 8, the least epsilon:
      leastnoise design --delta 1e-6 --sigma 8 --compositions 10
    Ten answers at once, epsilon 1, the least noise, written for later use:
      leastnoise design --delta 1e-6 --epsilon 1 --batch 10 --out noise.json
    The law with its rivals as a picture:
      leastnoise design --delta 1e-6 --sigma 1 --compositions 5 --plot law.png
    """
    from leastnoise.designer.design import design as make

    not_both_on_stdout(out, as_json)
    _check_touched(request["touched"], request["batch"])
    best = make(**request)
    written = None
    if out is not None:
        written = _write_artefact(best, out)
    if plot is not None:
        from leastnoise.plots import design_sheet

        design_sheet(best).save(plot)
    if as_json:
        files = ({"artefact": out, "artefact_epsilon": written} if out else {}) | _drawn(plot)
        print_json(_design_as_json(best) | files)
        return
    aside = out == DASH  # the artefact has standard output for itself
    click.echo(best.summary(), err=aside)
    if out is not None and written is not None:
        check = "" if aside else f"; check it with: leastnoise verify {shown(out)}"
        click.echo(
            f"  written     {shown(out)}, certified at epsilon = {above(written, 6)}{check}",
            err=aside,
        )
    if plot is not None:
        click.echo(f"  drawn       {shown(plot)}", err=aside)


@main.command()
@use
@click.option(
    "--sigma", type=NUMBER, required=True, help="Standard deviation of the noise on one answer."
)
@domain
@plot_option
@json_option
def compare(as_json: bool, plot: str | None, **request: Any) -> None:
    """Compare the optimised noise with every known mechanism: ε at equal σ, and the σ each needs for the ε of ours.

    \b
      leastnoise compare --delta 1e-6 --sigma 8 --compositions 10
      leastnoise compare --delta 1e-6 --sigma 8 --batch 10 --plot comparison.svg
    """
    from leastnoise.designer.compare import compare as rows_for

    rows = rows_for(**request)
    best = rows[0]
    if plot is not None:
        from leastnoise.plots import compare_sheet

        compare_sheet(rows, sigma=request["sigma"], delta=request["delta"]).save(plot)
    if as_json:
        laws = [vars(row) for row in rows]
        found = {
            "sigma": request["sigma"],
            "epsilon": best.epsilon_at_sigma,
            "delta": request["delta"],
            "laws": laws,
        }
        print_json(found | _drawn(plot))
        return
    click.echo(
        f"δ = {above(request['delta'], 6)}, {request['compositions']} release(s) of {request['batch']} answer(s), "
        f"sensitivity {below(request['sensitivity'], 6)}\n"
    )
    print_comparison(rows, sigma=request["sigma"])
    if plot is not None:
        click.echo(f"\ndrawn: {shown(plot)}")


def _law_words(
    context: click.Context, argument: click.Parameter, begun: str
) -> list[CompletionItem]:
    """What a shell offers for LAW: the named laws that begin so, else files (bash shows files alone or not at all)."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in NAMED if name.startswith(begun)] or [
        CompletionItem(begun, type="file")
    ]


@main.command()
@click.argument("law", shell_complete=_law_words)
@use_of_a_law
@click.option("--sigma", type=NUMBER, help="Standard deviation of a named law.")
@click.option("--epsilon", type=NUMBER, help="Also give δ at this ε.")
@plot_option
@json_option
def account(
    law: str,
    delta: float,
    sensitivity: float | None,
    compositions: int | None,
    batch: int | None,
    sigma: float | None,
    epsilon: float | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Judge a law: a saved file, an artefact, or a named one (gaussian, laplace, staircase, cactus,
    cube, sphere, discrete-…).

    \b
      leastnoise account gaussian --sigma 8 --compositions 10 --delta 1e-6
      leastnoise account noise.json --compositions 20 --delta 1e-6
      leastnoise account laplace --sigma 8 --compositions 10 --delta 1e-6 --plot laplace.pdf
    """
    from leastnoise.privacy.loss import PrivacyLoss

    noise, moved, uses = _judged_law(law, sigma, sensitivity, compositions, batch)
    loss = PrivacyLoss.of(noise, moved).compose(uses)
    lower, upper = loss.epsilon_bounds(delta)
    result: dict[str, Any] = {
        "law": law,
        "std": noise.std,
        "dimension": noise.dimension,
        "delta": delta,
        "draws": uses,
    }
    result |= {"sensitivity": moved, "epsilon": upper, "epsilon_lower": lower}
    if epsilon is not None:
        delta_lower, delta_upper = loss.delta_bounds(epsilon)
        result |= {
            "at_epsilon": epsilon,
            "delta_at_epsilon": delta_upper,
            "delta_at_epsilon_lower": delta_lower,
        }
    if plot is not None:
        from leastnoise.plots import account_sheet

        account_sheet(Path(law).name, noise, delta=delta, sensitivity=moved, draws=uses).save(plot)
    if as_json:
        print_json(result | _drawn(plot))
        return
    draws = f"{uses} draw(s)" + (
        f" of {noise.dimension} answers each" if noise.dimension > 1 else ""
    )
    click.echo(
        f"{shown(law)}: standard deviation {noise.std:.6g}, {draws}, sensitivity {below(moved, 6)}"
    )
    click.echo(
        f"  epsilon = {above(upper, 6)} at delta = {above(delta, 6)} (exact value above {below(lower, 6)})"
    )
    if epsilon is not None:
        click.echo(
            f"  delta = {above(result['delta_at_epsilon'])} at epsilon = {below(epsilon, 6)}"
        )
    if plot is not None:
        click.echo(f"  drawn: {shown(plot)}")


NOT_TO_ADD = (
    "This is noise to look at, not to add to answers: an answer that was not rounded to the lattice of the noise shows through. "
    "To add noise, use: leastnoise perturb."
)


@main.command()
@click.argument("law", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "-n",
    "--count",
    type=click.IntRange(min=1, max=10_000_000),
    default=1,
    show_default=True,
    help="How many draws.",
)
@json_option
def sample(law: str, count: int, as_json: bool) -> None:
    """Draw noise exactly from an artefact or a saved law, with the operating system's entropy, to
    look at it.

    One line a draw; joint laws print one number per answer, separated by spaces.

    Do NOT add these numbers to answers. The noise lies on a lattice; an answer that does not is
    seen in what remains of the sum between two lattice points, and one draw is enough. `leastnoise
    perturb` rounds the answers to the lattice first, adds the noise in whole numbers, and can write
    the cost down.

    \b
      leastnoise sample noise.json -n 5
    """
    import numpy as np

    draws = np.asarray(saved_law(law).sample(count))
    if as_json:
        print_json({"law": law, "notice": NOT_TO_ADD, "noise": draws.tolist()})
        return
    click.echo(f"leastnoise: {NOT_TO_ADD}", err=True)
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
                "recomputed_epsilon": None
                if found.recomputed is None
                else found.recomputed.epsilon,
                "mismatches": list(found.mismatches),
            }
        )
    else:
        if found.stated is not None:
            click.echo(
                f"stated      epsilon = {found.stated.epsilon!r} at delta = {found.stated.delta!r}"
            )
        if found.recomputed is not None:
            click.echo(
                f"recomputed  epsilon = {found.recomputed.epsilon!r} at delta = {found.recomputed.delta!r}"
            )
        for mismatch in found.mismatches:
            click.echo(f"mismatch    {shown(mismatch)}")
        click.echo("verified" if found.ok else "NOT VERIFIED")
    if not found.ok:
        raise SystemExit(1)


def _check_touched(touched: int | None, batch: int) -> None:
    """How many answers of a batch one person can change is at most all of them, and says nothing of
    single answers."""
    from leastnoise.errors import InvalidParameterError

    if touched is not None and batch == 1:
        raise InvalidParameterError(
            "--touched", touched, "to come with --batch, how many answers there are to change"
        )
    if touched is not None and touched > batch:
        raise InvalidParameterError("--touched", touched, f"to be at most --batch {batch}")


def _judged_law(
    law: str,
    sigma: float | None,
    sensitivity: float | None,
    compositions: int | None,
    batch: int | None,
) -> tuple[Noise, float, int]:
    """The law to judge, its sensitivity and how often it is drawn: as given, else as an artefact
    states it, else 1."""
    from leastnoise.errors import InvalidParameterError, positive_integer

    answers = positive_integer("batch", 1 if batch is None else batch)
    if law in NAMED:
        moved = 1.0 if sensitivity is None else sensitivity
        noise: Noise = _named_law(law, sigma, moved, answers)
        stated = None
    else:
        if not Path(law).exists():
            raise InvalidParameterError("LAW", law, f"to be a file or one of {', '.join(NAMED)}")
        if sigma is not None:
            raise InvalidParameterError("--sigma", sigma, "to be left out: a saved law has its own")
        noise, stated = law_and_guarantee(law)
        moved = (
            sensitivity
            if sensitivity is not None
            else 1.0
            if stated is None
            else stated.sensitivity
        )
        if batch is not None and answers < noise.dimension:
            raise InvalidParameterError(
                "--batch",
                batch,
                f"to be at least {noise.dimension}, the answers that one draw serves",
            )
        if (
            batch is not None
            and compositions is None
            and stated is not None
            and stated.compositions > 1
        ):
            expected = f"to come with --compositions: the file states {stated.compositions} draws in all, whatever they answer"
            raise InvalidParameterError("--batch", batch, expected)
    if compositions is None and batch is None and stated is not None:
        return noise, moved, stated.compositions
    releases = positive_integer("compositions", 1 if compositions is None else compositions)
    return noise, moved, releases * -(-answers // noise.dimension)


def _named_law(law: str, sigma: float | None, sensitivity: float, batch: int) -> Noise:
    from leastnoise import ball, classic
    from leastnoise.designer.cactus import cactus
    from leastnoise.errors import InvalidParameterError

    if sigma is None:
        raise InvalidParameterError("--sigma", sigma, f"to be given for the named law {law}")
    builders: Mapping[str, Callable[[float], Noise]] = {
        "gaussian": classic.gaussian,
        "laplace": classic.laplace,
        "staircase": lambda s: classic.staircase(s, sensitivity=sensitivity),
        "cactus": lambda s: cactus(s, sensitivity=sensitivity),
        "cube": lambda s: classic.cube(s, batch, sensitivity=sensitivity),
        "sphere": lambda s: ball.sphere(s, batch, sensitivity=sensitivity),
        "discrete-gaussian": classic.discrete_gaussian,
        "discrete-laplace": classic.discrete_laplace,
        "discrete-staircase": lambda s: classic.staircase(
            s, sensitivity=sensitivity, domain="integer"
        ),
    }
    return builders[law](sigma)


def saved_law(path: str) -> Noise:
    """The law of an artefact or of a law file."""
    return law_and_guarantee(path)[0]


def law_and_guarantee(path: str) -> tuple[Noise, Guarantee | None]:
    """The law of a file and, where it is an artefact, what it is stated for."""
    from leastnoise.artefact import FORMAT, read_artefact
    from leastnoise.storage import file_format, load

    if file_format(path) != FORMAT:
        return load(path), None
    artefact = read_artefact(path)
    return artefact.noise, artefact.guarantee


def _write_artefact(best: Design, out: str) -> float:
    """Write the design as an artefact; returns the certified ε."""
    from leastnoise.artefact import artefact_text
    from leastnoise.designer.artefacts import artefact_of

    artefact = artefact_of(best)
    write_out(out, artefact_text(artefact))
    return artefact.guarantee.epsilon


def _drawn(plot: str | None) -> dict[str, str]:
    return {} if plot is None else {"plot": plot}


def _design_as_json(best: Design) -> dict[str, Any]:
    fields = (
        *(
            "epsilon",
            "epsilon_lower",
            "delta",
            "sigma",
            "sensitivity",
            "compositions",
            "batch",
            "touched",
            "objective",
            "origin",
        ),
        *("renyi_order", "gap", "status", "discretisation", "moments_epsilon", "is_joint", "uses"),
    )
    found = {name: getattr(best, name) for name in fields}
    return found | {
        "std": best.noise.std,
        "half_width_95": best.noise.interval(0.95),
        "rivals": dict(best.rivals),
    }
