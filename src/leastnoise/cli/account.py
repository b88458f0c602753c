"""The command that judges a law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.changes import BOX, condition, space_of_a_law, stated_changes
from leastnoise.cli.group import main
from leastnoise.cli.law_files import law_and_guarantee
from leastnoise.cli.messages import refused
from leastnoise.cli.options import json_option, number, plot_option, use_of_a_law
from leastnoise.cli.output import drawn, print_json
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above, below, counted, exact_above

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from leastnoise.artefact import Guarantee
    from leastnoise.changes import Changes
    from leastnoise.laws.base import Noise

NAMED = (
    *("gaussian", "laplace", "staircase", "cactus", "cube", "sphere", "cut-cube"),
    *("discrete-gaussian", "discrete-laplace", "discrete-staircase"),
)


def _completed_law(
    context: click.Context, argument: click.Parameter, begun: str
) -> list[CompletionItem]:
    """What a shell offers for LAW: the named laws that begin so, else files (bash shows files alone
    or not at all)."""
    from click.shell_completion import CompletionItem

    named = [CompletionItem(name) for name in NAMED if name.startswith(begun)]
    return named or [CompletionItem(begun, type="file")]


@main.command()
@click.argument("law", shell_complete=_completed_law)
@use_of_a_law
@space_of_a_law
@number("--sigma", "Standard deviation of a named law.")
@number("--epsilon", "Also give δ at this ε.")
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
    **space: Any,
) -> None:
    """Judge a law: a saved file, an artefact, or a named one (gaussian, laplace, staircase, cactus,
    cube, sphere, cut-cube, discrete-…). The cut cube is the one of least ε at --delta.

    \b
      leastnoise account gaussian --sigma 8 --compositions 10 --delta 1e-6
      leastnoise account noise.json --compositions 20 --delta 1e-6
      leastnoise account sphere --sigma 8 --batch 40 --radius 2 --delta 1e-6
      leastnoise account laplace --sigma 8 --compositions 10 --delta 1e-6 --plot laplace.pdf
    """
    from leastnoise.accountant.privacy_loss import PrivacyLoss

    noise, moved, draws, stated = _judged(law, sigma, sensitivity, compositions, batch, delta)
    _check_joint(noise, space)
    changes = stated_changes(**space, answers=noise.dimension) or stated
    loss = PrivacyLoss.of(noise, moved, changes).compose(draws)
    lower, upper = loss.epsilon_bounds(delta)
    result: dict[str, Any] = {
        "law": law,
        "std": noise.std,
        "dimension": noise.dimension,
        "delta": delta,
        "draws": draws,
        "sensitivity": moved,
        "changes": changes.fitted(noise.dimension).describe(),
        "epsilon": upper,
        "epsilon_lower": lower,
    }
    if epsilon is not None:
        delta_lower, delta_upper = loss.delta_bounds(epsilon)
        result |= {"at_epsilon": epsilon, "delta_at_epsilon": delta_upper}
        result["delta_at_epsilon_lower"] = delta_lower
    if plot is not None:
        from leastnoise.plots import account_sheet

        use: dict[str, Any] = {
            "delta": delta,
            "sensitivity": moved,
            "draws": draws,
            "changes": changes,
        }
        account_sheet(Path(law).name, noise, **use).save(plot)
    if as_json:
        print_json(result | drawn(plot))
        return
    _show(result, condition(changes.fitted(noise.dimension), noise.dimension))
    if plot is not None:
        click.echo(f"  drawn: {shown(plot)}")


def _show(result: Mapping[str, Any], held: str) -> None:
    answers = result["dimension"]
    each = " each" if result["draws"] > 1 else ""
    draws = counted(result["draws"], "draw") + (
        f" of {answers} answers{each}" if answers > 1 else ""
    )
    moved = below(result["sensitivity"], 6)
    law = f"{shown(result['law'])}: standard deviation {result['std']:.6g}"
    click.echo(f"{law}, {draws}, sensitivity {moved}")
    upper, at = above(result["epsilon"], 6), above(result["delta"], 6)
    click.echo(f"  epsilon = {upper} at delta = {at}{exact_above(result['epsilon_lower'])}")
    if held:
        click.echo(f"  if {held}")
    if "at_epsilon" in result:
        at = below(result["at_epsilon"], 6)
        click.echo(f"  delta = {above(result['delta_at_epsilon'])} at epsilon = {at}")


def _judged(
    law: str,
    sigma: float | None,
    sensitivity: float | None,
    compositions: int | None,
    batch: int | None,
    delta: float,
) -> tuple[Noise, float, int, Changes]:
    """The law called by its name or of a file, its sensitivity and how often it is drawn: as given,
    else as an artefact states it, else 1; and the changes that an artefact states, else the box."""
    from leastnoise.changes import BOX as EVERY_CHANGE

    answers = _one_unless("batch", batch)
    moved = 1.0 if sensitivity is None else sensitivity
    changes: Changes = EVERY_CHANGE
    if law in NAMED:
        if sigma is None:
            raise refused("--sigma", sigma, f"to be given for the named law {law}")
        noise = _builders(moved, answers, delta)[law](sigma)
    else:
        if sigma is not None and Path(law).exists():
            raise refused("--sigma", sigma, "to be left out: a saved law has its own")
        noise, stated = _saved_law(law, compositions, batch)
        if stated is not None:
            moved = stated.sensitivity if sensitivity is None else moved
            changes = stated.changes
        if stated is not None and compositions is None and batch is None:
            return noise, moved, stated.compositions, changes
    releases = _one_unless("compositions", compositions)
    return noise, moved, releases * -(-answers // noise.dimension), changes


def _check_joint(noise: Noise, space: Mapping[str, Any]) -> None:
    """Which answers move together is no question for a draw that serves one."""
    for name, value in space.items():
        if noise.dimension == 1 and value not in (None, BOX):
            expected = "to be left out: one draw of the law serves one answer"
            raise refused(f"--{name}", value, expected)


def _one_unless(name: str, given: int | None) -> int:
    from leastnoise.errors import positive_integer

    return positive_integer(name, 1 if given is None else given)


def _saved_law(
    law: str, compositions: int | None, batch: int | None
) -> tuple[Noise, Guarantee | None]:
    if not Path(law).exists():
        raise refused("LAW", law, f"to be a file or one of {', '.join(NAMED)}")
    noise, stated = law_and_guarantee(law)
    if batch is not None:
        _check_batch(batch, noise, stated, compositions)
    return noise, stated


def _check_batch(
    batch: int, noise: Noise, stated: Guarantee | None, compositions: int | None
) -> None:
    """A draw is used whole; what a batch makes of the draws that a file states is not guessed."""
    if batch < noise.dimension:
        expected = f"to be at least {noise.dimension}, the answers that one draw serves"
        raise refused("--batch", batch, expected)
    if compositions is None and stated is not None and stated.compositions > 1:
        expected = f"the file states {stated.compositions} draws in all, whatever they answer"
        raise refused("--batch", batch, f"to come with --compositions: {expected}")


def _builders(
    sensitivity: float, batch: int, delta: float
) -> Mapping[str, Callable[[float], Noise]]:
    """How each named law is made from a standard deviation."""
    from leastnoise.designer.cactus import cactus
    from leastnoise.laws import classic
    from leastnoise.laws import sphere as ball
    from leastnoise.laws.cut_cube import cut_cube
    from leastnoise.solver.staircase import staircase

    s = sensitivity
    return {
        "gaussian": classic.gaussian,
        "laplace": classic.laplace,
        "staircase": lambda sigma: staircase(sigma, sensitivity=s),
        "cactus": lambda sigma: cactus(sigma, sensitivity=s),
        "cube": lambda sigma: classic.cube(sigma, batch, sensitivity=s),
        "sphere": lambda sigma: ball.sphere(sigma, batch, sensitivity=s),
        "cut-cube": lambda sigma: cut_cube(sigma, batch, delta=delta, sensitivity=s),
        "discrete-gaussian": classic.discrete_gaussian,
        "discrete-laplace": classic.discrete_laplace,
        "discrete-staircase": lambda sigma: staircase(sigma, sensitivity=s, domain="integer"),
    }
