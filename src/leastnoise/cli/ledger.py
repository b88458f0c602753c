"""The commands on a ledger: open, show, spend, export, check."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.changes import condition, with_relation
from leastnoise.cli.group import main
from leastnoise.cli.law_files import law_and_guarantee
from leastnoise.cli.options import choice, flag, json_option, number, out_option
from leastnoise.cli.output import DASH, print_json, write_out
from leastnoise.cli.protected_unit import stated_unit, unit_caution, unit_options
from leastnoise.cli.spending import charged, existing_ledger, left, less_than_stated, would_cost
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above, below, counted

if TYPE_CHECKING:
    from leastnoise.ledger.ledger import Dataset, Preview, Spend


@main.group()
def ledger() -> None:
    """The ledger: what every data set may spend, and every release that spent it.

    \b
      leastnoise ledger open budget.ledger patients --epsilon 2 --delta 1e-6
      leastnoise ledger show budget.ledger
      leastnoise ledger check budget.ledger
    """


_file = click.argument("file", type=click.Path(dir_okay=False))


@ledger.command("open")
@_file
@click.argument("dataset")
@number("--epsilon", "ε over all releases of the data set, for ever.", required=True)
@number("--delta", "δ over all releases; well below 1/people.", required=True)
@choice(
    "--rule",
    ["adaptive", "fixed in advance"],
    "adaptive: later releases may depend on earlier answers. fixed in advance: tighter, but only "
    "if they do not.",
)
@number(
    "--releases",
    "How many releases are to share delta: a plan that declares none gets its share. More are not "
    "refused. [default: 25]",
    type=int,
)
@number(
    "--advantage",
    "A cap beside ε on the attacker's advantage over all releases, in (0, 1): 0.2 allows 60 % "
    "right guesses from even odds.",
)
@json_option
def ledger_open(file: str, dataset: str, as_json: bool, **budget: Any) -> None:
    """Declare the budget of a data set, in FILE, which is made if it is missing. A budget can never
    be changed.

    \b
      leastnoise ledger open budget.ledger patients --epsilon 2 --delta 1e-6
    """
    from leastnoise.ledger.budget import RELEASES, declared
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.ledger.records import dataset_name

    # before the file is made
    dataset_name(dataset)
    shares = RELEASES if budget["releases"] is None else budget["releases"]
    declared(**{**budget, "releases": shares})
    with Ledger(file) as book:
        made = book.open_dataset(dataset, **budget)
    if as_json:
        print_json(_account(made))
        return
    may = f"epsilon = {below(made.epsilon, 6)} at delta = {above(made.delta, 6)}"
    if made.advantage is not None:
        may += f", with an advantage of at most {below(made.advantage, 6)}"
    click.echo(f"{made.name!r} may spend {may} ({made.rule}); kept in {shown(file)}")


@ledger.command("show")
@_file
@json_option
def ledger_show(file: str, as_json: bool) -> None:
    """Budgets, what is spent, and every release.

    \b
      leastnoise ledger show budget.ledger
    """
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.ledger.listing import entry_as_json

    with Ledger(file, read_only=True) as book:
        if as_json:
            accounts = [_account(account) for account in book.datasets()]
            entries = [entry_as_json(entry) for entry in book.entries()]
            head = {"ledger": file, "head": book.head}
            print_json({**head, "datasets": accounts, "releases": entries})
        else:
            click.echo(book.show(), nl=False)


@ledger.command("spend")
@_file
@click.argument("dataset")
@click.argument("law", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--plan",
    required=True,
    help="What is released: a name or a hash by which it can be found again.",
)
@number(
    "--uses",
    "How many draws of the law; by default as many as the artefact states, else 1.",
    type=int,
)
@number(
    "--sensitivity",
    "How much one person can move one answer; by default what the artefact states, else 1.",
)
@less_than_stated
@unit_options
@click.option("--note", default="", help="Anything to remember.")
@flag("--preview", help="Only say what it would cost; exit 1 if it would be refused.")
@flag("--last", help="Record it also where nothing could be released from the data set after it.")
@json_option
def ledger_spend(
    file: str,
    dataset: str,
    law: str,
    plan: str,
    uses: int | None,
    sensitivity: float | None,
    less_than_stated: bool,
    note: str,
    preview: bool,
    last: bool,
    as_json: bool,
    **protected: Any,
) -> None:
    """Record a release that is made elsewhere with a saved LAW (an artefact or a law file), or
    refuse it.

    It costs what the artefact states: its number of uses, at its sensitivity, for the changes that
    it is for; where these are all up or all down, the relation is settled too: add/remove. Run it
    before anything is revealed: when it exits with 0 the spend is on the disk.

    \b
      leastnoise ledger spend budget.ledger patients noise.json --plan "ten counts, March" \
--relation replace --one-row-per-person
    """
    from leastnoise.changes import BOX
    from leastnoise.ledger.ledger import Ledger, Spend
    from leastnoise.ledger.listing import entry_as_json

    noise, stated = law_and_guarantee(law)
    sensitivity, uses, stamp = charged(stated, sensitivity, uses, less_than_stated)
    spend = Spend(noise, sensitivity, uses, BOX if stated is None else stated.changes)
    unit = with_relation(stated_unit(**protected), spend.changes)
    existing_ledger("FILE", file)
    with Ledger(file, read_only=preview) as book:
        caution = unit_caution(book.dataset(dataset), unit)
        if preview:
            cost = book.preview(dataset, [spend], **unit)
            _show_preview(dataset, cost, spend, caution, as_json)
            raise SystemExit(0 if cost.allowed and (last or not cost.last) else 1)
        said = {"plan_hash": plan, "note": note, "stamp": stamp, **unit}
        entry = book.spend(dataset, [spend], **said, last=last)
        if as_json:
            print_json(entry_as_json(entry) | {"caution": caution or None})
            return
        if caution:
            click.echo(caution, err=True)
        marked = f" ({stamp})" if stamp else ""
        used = f"{uses} use(s) at sensitivity {below(sensitivity, 6)}{marked}"
        click.echo(f"recorded as release {entry.id}: {used}{_if_held(spend, ', if ')}")
        click.echo(left(book.dataset(dataset)))


def _show_preview(dataset: str, cost: Preview, spend: Spend, caution: str, as_json: bool) -> None:
    if as_json:
        told = {"changes": spend.changes.describe(), "caution": caution or None}
        print_json({"dataset": dataset, **vars(cost), **told})
        return
    click.echo(would_cost(dataset, cost) + _if_held(spend, "\nledger: only if "))
    if caution:
        click.echo(caution, err=True)


def _if_held(spend: Spend, before: str) -> str:
    """The condition of a spend after a few words; nothing where there is none."""
    held = condition(spend.changes, getattr(spend.noise, "dimension", 1))
    return f"{before}{held}" if held else ""


@ledger.command("export")
@_file
@choice("--format", ["json", "csv"], "Everything, or the releases.")
@out_option("Write to this file instead of standard output.")
def ledger_export(file: str, format: str, out: str | None) -> None:
    """Everything in the ledger as JSON (budgets, releases, laws), or the releases as CSV.

    \b
      leastnoise ledger export budget.ledger --format csv --out releases.csv
    """
    from leastnoise.ledger.ledger import Ledger

    with Ledger(file, read_only=True) as book:
        text = book.export(format)
    write_out(out or DASH, text)
    if out not in (None, DASH):
        click.echo(f"written: {shown(out)}", err=True)


@ledger.command("check")
@_file
@click.option("--head", help="A head printed earlier, which must still be in the chain.")
@flag(
    "--every-release",
    help="Recompute tight composition for every release, not only first and newest.",
)
@flag(
    "--rigorous",
    help="Prove ε of every release by itself, and of all of a data set together, by the second "
    "judge as well.",
)
@json_option
def ledger_check(
    file: str, head: str | None, every_release: bool, rigorous: bool, as_json: bool
) -> None:
    """Verify the chain of hashes and recompute every cost from the laws; exit 1 if anything does
    not match.

    Keep the head it prints somewhere else: it proves later that nothing before it was changed.

    \b
      leastnoise ledger check budget.ledger
    """
    from leastnoise.ledger.ledger import Ledger

    with Ledger(file, read_only=True) as book:
        found = book.check(head=head, every_entry=every_release, rigorous=rigorous)
    if as_json:
        whole = {"ledger": file, "ok": found.ok, "releases": found.entries, "head": found.head}
        print_json({**whole, "problems": list(found.problems)})
    else:
        for problem in found.problems:
            click.echo(f"problem  {problem}")
        state = "whole" if found.ok else "NOT WHOLE"
        click.echo(f"{state}: {counted(found.entries, 'release')}, head {found.head}")
    if not found.ok:
        raise SystemExit(1)


def _account(account: Dataset) -> dict[str, Any]:
    return {**asdict(account), "remaining": account.remaining}
