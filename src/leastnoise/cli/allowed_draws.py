"""How many draws of an artefact may be used, and how many uses they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leastnoise.cli.messages import refused

if TYPE_CHECKING:
    from leastnoise.artefact import Artefact


@dataclass(frozen=True)
class AllowedDraws:
    """What an artefact may be used for: `draws` in all, of which one person can change at most
    `touched` in every `blocks`. `unsaid` is what else could be said, and is not."""

    stated: int
    draws: int
    blocks: int
    touched: int
    unsaid: str = ""

    @staticmethod
    def of(artefact: Artefact, touched: int | None) -> AllowedDraws:
        """As many draws as uses are stated. A design for a batch of which one person changes only
        some answers states the uses that one person can change, and is for more draws than that.
        How many, its account of the problem says, which no certificate covers: whoever releases
        says so too, or there are no more draws than uses."""
        stated, told = artefact.guarantee.compositions, AllowedDraws._told(artefact)
        if touched is None:
            more = ""
            if told is not None:
                some = f"if one person changes no more of {told.blocks} draws"
                more = f" Or add --touched {told.touched}, {some}."
            return AllowedDraws(stated, stated, 1, 1, more)
        if told is None:
            answers = artefact.noise.dimension
            expected = "to be left out: the artefact is not designed with it"
            if artefact.guarantee.changes.touched_of(answers) < answers:
                expected = "to be left out: the artefact states it of the answers of each draw"
            raise refused("--touched", touched, expected)
        if touched != told.touched:
            expected = f"to be {told.touched}, which the artefact is designed for"
            raise refused("--touched", touched, expected)
        return told

    @staticmethod
    def _told(artefact: Artefact) -> AllowedDraws | None:
        stated, problem = artefact.guarantee.compositions, artefact.problem
        batch, touched, releases = (
            problem.get(name) for name in ("batch", "touched", "compositions")
        )
        if isinstance(batch, int) and isinstance(touched, int) and isinstance(releases, int):
            blocks = -(-batch // artefact.noise.dimension)
            if 0 < touched < blocks and releases * touched == stated:
                return AllowedDraws(stated, releases * blocks, blocks, touched)
        return None

    def added_to(self, stamp: str) -> str:
        """The mark that the ledger keeps, with the condition under which there are more draws."""
        if self.touched_of is None:
            return stamp
        condition = f"a person changes at most {self.touched} of {self.blocks} draws"
        return f"{stamp}; {condition}" if stamp else condition

    @property
    def touched_of(self) -> list[int] | None:
        """[touched, blocks] where one person can change only some of the draws."""
        return [self.touched, self.blocks] if self.touched < self.blocks else None

    def check(self, draws: int) -> None:
        from leastnoise.errors import InvalidFileError

        if draws > self.draws:
            raise InvalidFileError(
                f"The artefact is for {self.draws} draw(s), and the answers need {draws}: design "
                f"one for as many, with --compositions or --batch.{self.unsaid}"
            )

    def charge(self, draws: int) -> int:
        """How many uses these draws are."""
        return min(-(-draws // self.blocks) * self.touched, draws, self.stated)
