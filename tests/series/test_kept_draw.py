"""The file of a series: whose it is, which copies of it are refused, what a power cut leaves, what
an error says."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import traceback
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from leastnoise import Box, Ledger
from leastnoise.errors import (
    InvalidParameterError,
    LeastNoiseError,
    LedgerError,
    MissingExtraError,
    SeriesError,
    UnsupportedError,
)
from leastnoise.files import locking
from leastnoise.files.canonical import canonical
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.ledger.ledger import Spend
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.sampling.entropy import OperatingSystemEntropy
from leastnoise.series import inode, kept_draw, slots
from leastnoise.series.kept_draw import KeptDraw
from leastnoise.series.opening import new_series, open_series
from leastnoise.series.slots import SLOT, USED, Cipher, known_cipher, new_cipher
from series.cheap import (
    BUDGET,
    DATASET,
    UNIT,
    charged_series,
    cheap_series,
    header_of,
    law,
    overwritten,
    slots_at,
    stored_numbers,
    values,
)

posix = pytest.mark.skipif(os.name != "posix", reason="modes and inodes are those of POSIX")


@pytest.fixture
def path(tmp_path):
    """A series of six questions without a ledger."""
    return Path(cheap_series(tmp_path / "a.series").path)


def refused_untouched(path, match, error=SeriesError, **options):
    """It can be neither opened nor asked, and nothing in it changes."""
    before = path.read_bytes()
    with pytest.raises(error, match=match):
        open_series(path, **options).answer(0, sensitivity=1)
    assert path.read_bytes() == before


# Whose it is


@posix
def test_only_the_owner_can_read_it(tmp_path):
    before = os.umask(0)
    try:
        path = Path(cheap_series(tmp_path / "a.series").path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.series"]


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o666])
def test_a_file_that_others_can_open_is_refused(path, mode):
    series = open_series(path)
    path.chmod(mode)
    refused_untouched(path, rf"by others \(mode {mode:o}\).*chmod 600")
    for use in (lambda: series.answer(0, 1), series.close, lambda: series.remaining):
        with pytest.raises(SeriesError, match="by others"):
            use()
    path.chmod(0o600)
    assert series.answer(0, 1).number == 1


@posix
def test_a_file_of_another_user_is_refused(path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    refused_untouched(path, "belongs to another user")


# Copies


def test_a_copy_is_refused(path, tmp_path):
    series = open_series(path)
    copy = Path(shutil.copy2(path, tmp_path / "copy"))
    refused_untouched(copy, "is a copy")
    path.unlink()
    copy.rename(path)  # even where it has the name of the file
    refused_untouched(path, "is a copy")
    with pytest.raises(SeriesError, match="is a copy"):
        series.answer(0, 1)


def test_a_backup_on_the_inode_of_the_removed_file_is_refused(path, tmp_path):
    """ext4 uses the number of a removed file's inode again at once."""
    backup = shutil.copy(path, tmp_path / "backup")
    number = path.stat().st_ino
    first = open_series(path).answer(0, 1)
    again = False
    for _ in range(3):
        path.unlink()
        shutil.copy(backup, path)
        again |= path.stat().st_ino == number
        refused_untouched(path, "is a copy")
    assert first.number == 1
    if sys.platform == "linux" and not again:
        pytest.skip("this file system gives no number twice")


def can_note(path):
    with locking.opened_alone(path) as handle:
        return inode.noted(handle) is not None


def test_a_backup_written_over_the_file_is_refused_while_it_is_open_and_later(path, tmp_path):
    if not can_note(path):
        pytest.skip("the file system keeps no notes")
    series = open_series(path)
    backup = path.read_bytes()
    series.answer([0, 0], 1)
    overwritten(path, 0, backup)
    for use in (lambda: series.answer(0, 1), lambda: series.remaining):
        with pytest.raises(SeriesError, match="put back from an old copy"):
            use()
    refused_untouched(path, "put back from an old copy")
    series.close()  # but it can be erased
    assert stored_numbers(path) == [None] * 6


def test_a_file_without_its_note_is_refused(path):
    if not can_note(path):
        pytest.skip("the file system keeps no notes")
    os.removexattr(path, "user.leastnoise.used")
    refused_untouched(path, "is a copy")


def test_where_the_file_system_has_neither_notes_nor_generations_the_inode_decides(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(kept_draw, "note", lambda handle, used: False)
    monkeypatch.setattr(kept_draw, "noted", lambda handle: None)
    monkeypatch.setattr(inode, "_generation", lambda handle: 0)
    path = Path(cheap_series(tmp_path / "a.series").path)
    assert header_of(path)["noted"] is False
    assert open_series(path).answer(0, 1).number == 1
    refused_untouched(Path(shutil.copy(path, tmp_path / "copy")), "is a copy")


def test_what_has_neither_notes_nor_generations():
    reader, writer = os.pipe()
    try:
        assert inode.identity(reader) == [os.fstat(reader).st_ino, 0]
        assert not inode.note(reader, 1)
        assert inode.noted(reader) is None
    finally:
        os.close(reader)
        os.close(writer)


def test_no_answer_where_the_note_cannot_be_made(path, monkeypatch):
    if not can_note(path):
        pytest.skip("the file system keeps no notes")
    series = open_series(path)
    monkeypatch.setattr(kept_draw, "note", lambda handle, used: False)
    with pytest.raises(SeriesError, match="cannot be marked"):
        series.answer(0, 1)


def test_names_and_links_of_the_same_file_share_its_numbers(path, tmp_path):
    numbers = stored_numbers(path)
    series = open_series(path)
    os.link(path, tmp_path / "other")
    assert open_series(tmp_path / "other").answer(0, 1).value == numbers[0]
    assert series.answer(0, 1).value == numbers[1]
    path.rename(tmp_path / "moved")
    with pytest.raises(SeriesError, match="There is no series"):
        series.answer(0, 1)
    assert open_series(tmp_path / "moved").answer(0, 1).value == numbers[2]
    (tmp_path / "link").symlink_to(tmp_path / "moved")
    refused_untouched(tmp_path / "link", "Cannot use")


def test_a_file_renamed_or_replaced_during_an_answer(path, tmp_path, monkeypatch):
    """Whoever has it open erases the file it opened, whatever has its name by then."""
    numbers, copy = stored_numbers(path), shutil.copy(path, tmp_path / "copy")
    erase = KeptDraw._erase

    def replaced(self, handle, *rest):
        path.rename(tmp_path / "moved")
        shutil.copy(copy, path)
        erase(self, handle, *rest)

    series = open_series(path)
    with monkeypatch.context() as patch:
        patch.setattr(KeptDraw, "_erase", replaced)
        assert series.answer(0, 1).value == numbers[0]
    assert stored_numbers(tmp_path / "moved") == [None, *numbers[1:]]
    refused_untouched(path, "is a copy")


def test_another_series_of_the_same_name_is_refused(path):
    series = open_series(path)
    path.unlink()
    cheap_series(path)
    with pytest.raises(SeriesError, match=r"another series|is a copy"):
        series.answer(0, 1)


# The ledger


def test_the_ledger_refuses_an_old_copy_before_anything_is_erased(tmp_path):
    series, ledger = charged_series(tmp_path)
    path = Path(series.path)
    copy = Path(shutil.copy(path, tmp_path / "copy"))
    late = open_series(copy, ledger=ledger)  # nothing is used yet: it may be the file, moved
    assert series.answer(0, 1).number == 1
    refused_untouched(copy, "old copy", LedgerError, ledger=ledger)
    before = copy.read_bytes()
    with pytest.raises(LedgerError, match="old copy"):
        late.answer(0, 1)
    assert copy.read_bytes() == before
    assert series.answer(0, 1).number == 2


def test_two_copies_that_race_never_give_the_same_number(tmp_path):
    """One of them is refused by what the ledger counts, whoever is first."""
    series, ledger = charged_series(tmp_path, 12)
    numbers = stored_numbers(series.path)
    copy = open_series(shutil.copy(series.path, tmp_path / "copy"), ledger=ledger)
    found = []
    for one in (copy, series, series, copy, series, copy):
        try:
            found.append(one.answer(0, 1))
        except LedgerError:
            one._kept.take(1, Cipher(), lambda taking: nullcontext())  # it lost one
    places = [one.number for one in found]
    assert len(set(places)) == len(places) >= 3
    assert values(found) == [numbers[place - 1] for place in places]


def test_the_ledger_refuses_a_changed_file(tmp_path):
    series, ledger = charged_series(tmp_path)
    path = Path(series.path)
    start = slots_at(path)
    series.answer(0, 1)
    content = path.read_bytes()
    last = start + 5 * SLOT
    for at in (last, last + SLOT - 1):
        overwritten(path, at, bytes([content[at] ^ 1]))
        refused_untouched(path, "was changed", LedgerError, ledger=ledger)
        with pytest.raises(LedgerError, match="was changed"):
            series.answer(0, 1)
        overwritten(path, at, content[at : at + 1])
    assert series.answer(0, 1).number == 2


def test_a_file_ahead_of_the_ledger_goes_on(tmp_path, monkeypatch):
    """A process killed between the erasure and the count, or a ledger put back from a copy."""
    series, ledger = charged_series(tmp_path)
    numbers = stored_numbers(series.path)
    backup = (tmp_path / "a.ledger").read_bytes()
    series.answer([0, 0], 1)
    ledger.close()
    (tmp_path / "a.ledger").write_bytes(backup)
    with Ledger(tmp_path / "a.ledger") as ledger:
        again = open_series(series.path, ledger=ledger)
        found = again.answer(0, 1)
        assert (found.number, found.value) == (3, numbers[2])
        assert ledger.entries()[0].answered == 3
        assert ledger.check().ok


def test_a_ledger_that_cannot_count_costs_no_answer(tmp_path):
    series, ledger = charged_series(tmp_path)
    before = Path(series.path).read_bytes()
    other = Ledger(tmp_path / "a.ledger")
    late = open_series(series.path, ledger=other)
    other.close()
    with pytest.raises(LedgerError, match="closed"):
        late.answer(0, 1)
    with Ledger(tmp_path / "a.ledger", read_only=True) as other:
        reading = open_series(series.path, ledger=other)
        with pytest.raises(LedgerError, match="readonly"):
            reading.answer(0, 1)
    with Ledger(tmp_path / "a.ledger", timeout=0.05) as other, ledger._log.writing():
        waiting = open_series(series.path, ledger=other)
        with pytest.raises(LedgerError, match="locked"):
            waiting.answer(0, 1)
    assert Path(series.path).read_bytes() == before
    assert series.answer(0, 1).number == 1


def test_a_charged_series_answers_only_with_its_ledger(tmp_path):
    series, ledger = charged_series(tmp_path)
    path = Path(series.path)
    refused_untouched(path, "open it with that ledger")
    with Ledger(tmp_path / "other.ledger") as other:
        refused_untouched(path, "never charged to this ledger", LedgerError, ledger=other)
        # charged for less under the same name
        other.open_dataset(DATASET, **BUDGET)
        other.spend(DATASET, [Spend(law(), 1.0, 1)], plan_hash=series.id)
        refused_untouched(path, "charged for something else", LedgerError, ledger=other)
    alone = Path(cheap_series(tmp_path / "alone").path)
    refused_untouched(alone, "stays without one", ledger=ledger)


def test_a_charged_series_may_move(tmp_path):
    series, ledger = charged_series(tmp_path)
    numbers = stored_numbers(series.path)
    series.answer(0, 1)
    moved = shutil.copy(series.path, tmp_path / "moved")
    os.remove(series.path)
    assert open_series(moved, ledger=ledger).answer(0, 1).value == numbers[1]


# Opening


@pytest.mark.parametrize("there", ["file", "dangling link", "folder"])
def test_a_name_that_is_taken_costs_nothing(there, tmp_path):
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.open_dataset(DATASET, **BUDGET)
        path = tmp_path / "a.series"
        if there == "file":
            path.write_text("mine")
        elif there == "folder":
            path.mkdir()
        else:
            path.symlink_to(tmp_path / "nowhere")
        with pytest.raises(SeriesError, match="is there already"):
            cheap_series(path, ledger=ledger, dataset=DATASET)
        assert not ledger.entries()
        assert there != "file" or path.read_text() == "mine"
        assert sorted(os.listdir(tmp_path)) == ["a.series", "ledger"]
        with pytest.raises(SeriesError, match="There is no folder"):
            cheap_series(tmp_path / "none" / "a.series", ledger=ledger, dataset=DATASET)


@pytest.mark.parametrize("error", [KeyboardInterrupt, LedgerError, OSError])
def test_an_error_at_opening_leaves_nothing(error, tmp_path, monkeypatch):
    def failing(*_, **__):
        raise error(5, "no")

    monkeypatch.setattr(Ledger, "spend", failing)
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.open_dataset(DATASET, **BUDGET)
        with pytest.raises(SeriesError if error is OSError else error):
            cheap_series(tmp_path / "a.series", ledger=ledger, dataset=DATASET)
        assert not ledger.entries()
    assert os.listdir(tmp_path) == ["ledger"]


def test_opening_that_was_interrupted_says_so(tmp_path, monkeypatch):
    """As a process leaves it that is killed before the ledger is charged."""
    monkeypatch.setattr(Ledger, "spend", lambda *_, **__: os._exit(7))
    if hasattr(os, "fork"):
        child = os.fork()
        if child == 0:
            charged_series(tmp_path)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        with Ledger(tmp_path / "a.ledger") as ledger:
            refused_untouched(
                tmp_path / "a.series", "it cost nothing; remove", LedgerError, ledger=ledger
            )


# An answer


def test_numbers_are_erased_and_counted_on_the_disk_before_they_are_used(tmp_path, monkeypatch):
    series, ledger = charged_series(tmp_path)
    path, numbers, happened = Path(series.path), stored_numbers(series.path), []
    write, sync, note, exact = kept_draw._write_at, os.fsync, kept_draw.note, type(series)._exact
    patches = {
        (kept_draw, "_write_at"): lambda *a: (write(*a), happened.append("erased"))[0],
        (os, "fsync"): lambda handle: (sync(handle), happened.append("on the disk"))[0],
        (kept_draw, "note"): lambda *a: (note(*a), happened.append("noted"))[0],
        (ledger._log, "confirm"): lambda event: happened.append(f"{event.kind} read back"),
        (type(series), "_exact"): lambda *a: (exact(*a), happened.append("used"))[0],
    }
    for (where, name), patch in patches.items():
        monkeypatch.setattr(where, name, patch)
    found = series.answer([0, 0], 1)
    order = ["erased", "on the disk", "noted", "series read back", "used", "used"]
    assert happened == order
    assert values(found) == numbers[:2]
    assert path.read_bytes()[slots_at(path) :][: 2 * SLOT] == 2 * USED


@pytest.mark.parametrize("name", ["_write_at", "fsync", "_read_at"])
def test_where_the_disk_fails_nothing_is_answered(name, path, monkeypatch):
    series = open_series(path)

    def failing(*_):
        raise OSError(5, "Input/output error")

    read = kept_draw._read_at
    with monkeypatch.context() as patch:
        if name == "_read_at":  # what was erased is still there
            patch.setattr(kept_draw, name, lambda *a: read(*a) if a[1] != SLOT else b"\x01" * SLOT)
        else:
            patch.setattr(os if name == "fsync" else kept_draw, name, failing)
        with pytest.raises(SeriesError, match=r"Input/output|cannot be erased"):
            series.answer(0, 1)
    assert series.answer(0, 1).number in (1, 2)


@pytest.mark.parametrize("kind", ["plain", "charged", "encrypted"])
def test_a_slot_torn_at_any_byte_is_lost_and_never_a_number(kind, tmp_path):
    """Zeros from its beginning or from its end, as a power cut leaves them."""
    cipher, ledger = Cipher(os.urandom(32)) if kind == "encrypted" else Cipher(), None
    if kind == "charged":
        series, ledger = charged_series(tmp_path)
    else:
        series = cheap_series(tmp_path / "a.series")
    path = Path(series.path)
    start, digest = slots_at(path), series.id
    if kind == "encrypted":
        pytest.importorskip("cryptography")
        content = b"".join(cipher.slot(i, kept_draw.slot_place(digest, i)) for i in range(6))
        overwritten(path, start, content)
    series._cipher = cipher
    numbers, whole = stored_numbers(path, cipher), path.read_bytes()[start : start + SLOT]
    for byte in range(1, SLOT):
        for torn in (bytes(byte) + whole[byte:], whole[:byte] + bytes(SLOT - byte)):
            if torn != whole and torn != USED:
                overwritten(path, start, torn)
                assert stored_numbers(path, cipher) == [None, *numbers[1:]]
                assert series.used == 1
    if ledger is not None:
        series = open_series(path, ledger=ledger)  # what the ledger knows of the rest is true
    found = series.answer(0, 1)
    assert (found.number, found.value) == (2, numbers[1])
    assert path.read_bytes()[start : start + 2 * SLOT] == 2 * USED  # no rest of the torn one


def test_a_torn_slot_in_the_middle_is_skipped(path):
    numbers, series = stored_numbers(path), open_series(path)
    overwritten(path, slots_at(path) + 2 * SLOT + 5, b"\0" * 9)
    found = series.answer([0, 0, 0], 1)
    assert [one.number for one in found] == [1, 2, 4]
    assert values(found) == [numbers[0], numbers[1], numbers[3]]
    with pytest.raises(SeriesError, match="has 2 of its 6 answers left, and 3"):
        series.answer([0, 0, 0], 1)
    assert series.remaining == 2


def test_threads_never_get_the_same_number(tmp_path):
    series = cheap_series(tmp_path / "a.series", 40)
    numbers, found = stored_numbers(series.path), []
    threads = [
        threading.Thread(target=lambda: found.extend(series.answer(0, 1) for _ in range(5)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.number for one in found) == list(range(1, 41))
    assert all(one.value == numbers[one.number - 1] for one in found)
    with pytest.raises(SeriesError, match="0 of its 40 answers left"):
        series.answer(0, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_during_an_answer_does_not_keep_the_file(path, monkeypatch):
    """The child has the open file too; it must not hold it when its parent is done, nor wait for
    itself."""
    series, erase, children = open_series(path), KeptDraw._erase, []
    reader, writer = os.pipe()

    def forking(self, *rest):
        if not children:
            children.append(os.fork())
            if children[0] == 0:
                os.write(writer, b"%d" % series.answer(0, 1).number)
                os._exit(0)
        erase(self, *rest)

    monkeypatch.setattr(KeptDraw, "_erase", forking)
    first = series.answer(0, 1)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
    assert (first.number, os.read(reader, 9)) == (1, b"2")
    os.close(reader)
    os.close(writer)


def test_a_carried_ledger_costs_a_child_no_answer(tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("forks")
    series, ledger = charged_series(tmp_path)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            series.answer(0, 1)
        except LedgerError:
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert series.remaining == 6
    ledger.close()


# Closing


@pytest.mark.parametrize("charged", [False, True])
def test_closing_erases_all_and_refunds_nothing(charged, tmp_path):
    if charged:
        series, ledger = charged_series(tmp_path)
        spent = ledger.dataset(DATASET).spent
    else:
        series = cheap_series(tmp_path / "a.series")
    path = Path(series.path)
    series.answer(0, 1)
    series.close()
    assert path.read_bytes()[slots_at(path) :] == 6 * USED
    assert (series.remaining, series.used) == (0, 6)
    events = ledger.head if charged else None
    series.close()
    if charged:
        assert ledger.dataset(DATASET).spent == spent
        assert ledger.entries()[0].answered == 6
        assert ledger.head == events  # the second time there is nothing to count
    with pytest.raises(SeriesError, match="0 of its 6"):
        series.answer(0, 1)


def test_a_charged_series_can_be_closed_without_its_ledger(tmp_path):
    series, ledger = charged_series(tmp_path)
    open_series(series.path).close()
    assert stored_numbers(series.path) == [None] * 6
    with pytest.raises(SeriesError, match="0 of its 6"):
        open_series(series.path, ledger=ledger).answer(0, 1)


# Encryption


@pytest.fixture
def quick(monkeypatch):
    """A cheap scrypt: the tests are not about guessing."""
    pytest.importorskip("cryptography")
    monkeypatch.setattr(slots, "_SCRYPT", {"n": 2, "r": 1, "p": 1})


def test_scrypt_is_as_costly_as_it_says():
    assert slots._SCRYPT == {"n": 1 << 17, "r": 8, "p": 1}


def test_an_encrypted_series(quick, tmp_path):
    sealed = cheap_series(tmp_path / "a.series", passphrase="correct horse")
    path = Path(sealed.path)
    assert "horse" not in repr((sealed, vars(sealed), sealed._cipher))
    assert str(sealed._cipher.key) not in repr(vars(sealed))
    numbers = stored_numbers(path, sealed._cipher)
    assert None not in numbers
    # Nothing of the numbers is in the file; later it has zeros, and a number may be 0.
    assert {Cipher().value(slot, b"") for slot in plain_slots(path)} == {None}
    content = path.read_bytes()
    for number in numbers:
        assert number.to_bytes(8, "little", signed=True) not in content
    refused_untouched(path, "passphrase is not that", passphrase="incorrect horse")
    refused_untouched(path, "open it with its passphrase")
    assert open_series(path, passphrase="correct horse").answer(0, 1).value == numbers[0]
    locked = open_series(path)
    assert (locked.remaining, locked.questions) == (5, 6)
    locked.close()
    assert stored_numbers(path, sealed._cipher) == [None] * 6


def plain_slots(path):
    data = path.read_bytes()[slots_at(path) :]
    return [data[at : at + SLOT] for at in range(0, len(data), SLOT)]


def test_an_encrypted_number_belongs_to_its_place_and_series(quick):
    cipher, _ = new_cipher("a")
    slot = cipher.slot(-7, b"here")
    assert cipher.value(slot, b"here") == -7
    moved = slot[:-8] + hashlib.sha256(b"there" + slot[:-8]).digest()[:8]
    assert slots.is_whole(moved, b"there")
    assert cipher.value(moved, b"there") is None


@pytest.mark.parametrize("passphrase", ["", "x" * 1025, 7, b"x"])
def test_what_is_no_passphrase(quick, passphrase, tmp_path):
    with pytest.raises(InvalidParameterError, match="passphrase=") as caught:
        cheap_series(tmp_path / "a.series", passphrase=passphrase)
    assert "x" * 9 not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_odd_passphrases(quick, path, tmp_path):
    with pytest.raises(InvalidParameterError, match="to be left out"):
        open_series(path, passphrase="secret")
    odd = cheap_series(tmp_path / "odd", passphrase="\ud800é")
    assert open_series(odd.path, passphrase="\ud800é").answer(0, 1).number == 1
    told = dict(new_cipher("a")[1] or {})
    for wrong in ({**told, "n": 4}, {**told, "salt": "x"}, {"kdf": "scrypt"}, [], "scrypt"):
        with pytest.raises(SeriesError, match="not known here"):
            known_cipher(wrong, "a")


def test_without_the_library_nothing_is_written_or_charged(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.kdf.scrypt", None)
    with pytest.raises(MissingExtraError, match="cryptography"):
        cheap_series(tmp_path / "a.series", passphrase="a")
    assert os.listdir(tmp_path) == []


# Damage


def rewritten(path, **changes):
    """Another header with its digest right, and the numbers as they are, on the same inode."""
    content, start = path.read_bytes(), slots_at(path)
    header = {name: value for name, value in {**header_of(path), **changes}.items() if value != ...}
    text = canonical(header).encode("ascii")
    digest = hashlib.sha256(text).hexdigest()
    first = f"leastnoise.series 1 {digest} {len(text):012d}\n".encode("ascii")
    path.write_bytes(first + text + content[start:])
    return digest


@pytest.mark.parametrize(
    "changes",
    [
        {"questions": 7},
        {"questions": 6.5},
        {"questions": True},
        {"questions": ...},
        {"draws": 5},
        {"draws": "6"},
        {"epsilon": "nan"},
        {"epsilon": 1.0},
        {"delta": "0x1p+0"},
        {"format": "leastnoise.law"},
        {"version": 2},
        {"law": {}},
        {"law": None},
        {"unit": []},
        {"unit": {"relation": ""}},
        {"unit": {"relation": 1, "person": "", "person_is": ""}},
        {"dataset": "clinic"},
        {"charged": True},
        {"charged": 1},
        {"entropy": None},
        {"origin": "\x1b[2K"},
        {"noted": ...},
        {"inode": [1, 2]},
        {"more": 1},
    ],
    ids=str,
)
def test_a_header_that_says_something_else_is_refused(changes, path):
    rewritten(path, **changes)
    refused_untouched(path, "not a series|numbers are missing|is a copy|damaged")


def test_a_header_changed_with_its_digest_loses_all_numbers(path):
    """They belong to the header that they were drawn for."""
    series = open_series(path)
    rewritten(path, epsilon=(0.001).hex())
    refused_untouched(path, "0 of its 6 answers left")
    with pytest.raises(SeriesError, match="another series"):
        series.answer(0, 1)


def test_a_file_with_a_law_that_rises_answers_nothing(tmp_path, monkeypatch):
    """Nobody opens such a series; somebody may write its file."""
    rising = LatticeNoise([8 / 64, 8 / 64, 48 / 64], None, domain="integer", dimension=2)
    drawn = SampledLaw(rising, 1, "for tests")
    given = {"unit": UNIT, "source": OperatingSystemEntropy()}
    with pytest.raises(UnsupportedError, match="convex"):
        new_series(tmp_path / "a.series", 2, drawn, 1.0, 1e-6, **given)
    with monkeypatch.context() as written_elsewhere:
        written_elsewhere.setattr("leastnoise.series.opening.changes_served", lambda law: Box())
        new_series(tmp_path / "a.series", 2, drawn, 1.0, 1e-6, **given)
    refused_untouched(tmp_path / "a.series", "convex", UnsupportedError)


def test_damaged_files_are_one_sentence(path):
    series, content = open_series(path), path.read_bytes()
    start = slots_at(path)
    broken = [content[:end] for end in (0, 1, 30, start - 1, start, start + 7, len(content) - 1)]
    broken += [content[: start + SLOT], content + b"\0", content + bytes(SLOT)]
    broken += [b"x" + content[1:], content[:40] + b"x" + content[41:], b"\0" * len(content)]
    broken += [content.replace(b" 0", b" 9", 1)]
    path.write_bytes(content[:100] + b"\xff" + content[101:])
    refused_untouched(path, "damaged")
    for one in broken:
        path.write_bytes(one)
        refused_untouched(path, "damaged|not a series")
        with pytest.raises(SeriesError):
            series.answer(0, 1)
    path.write_bytes(content)
    assert series.answer(0, 1).number == 1


@posix
def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, match in (("pipe", "is not a file"), ("none", "There is no series"), ("", "Cannot")):
        with pytest.raises(SeriesError, match=match):
            open_series(tmp_path / name)


# What errors say

SECRET = 918273645


@pytest.mark.parametrize(
    "value",
    [
        str(SECRET),
        [[SECRET]],
        [[SECRET], [1, 2]],
        [SECRET, "x"],
        [SECRET, None],
        {"a": SECRET},
        np.array([[SECRET]]),
        np.array([SECRET, np.nan]),
        np.ma.array([SECRET, 1], mask=[0, 1]),
        complex(SECRET),
        Decimal("NaN918273645"),
        {SECRET},
        iter([SECRET]),
        [SECRET] * 7,
        np.array(str(SECRET)),
        np.timedelta64(SECRET, "s"),
        np.timedelta64(SECRET, "ns"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_error_shows_a_private_value_or_uses_a_number(value, path):
    before = path.read_bytes()
    with pytest.raises(LeastNoiseError) as caught:
        open_series(path).answer(value, sensitivity=1)
    error = caught.value
    told = "".join(traceback.format_exception(error, limit=0)) + repr(error) + repr(vars(error))
    assert str(SECRET) not in told
    assert error.__cause__ is None
    assert error.__context__ is None or str(SECRET) not in str(error.__context__)
    assert path.read_bytes() == before


@pytest.mark.parametrize("sensitivity", [0, -1, np.nan, "1", [1, 1], None, 2.0, 10**400])
def test_a_sensitivity_that_is_refused_uses_no_number(sensitivity, path):
    with pytest.raises(InvalidParameterError, match="sensitivity="):
        open_series(path).answer(0, sensitivity)
    assert open_series(path).remaining == 6


def test_processes_wait_for_each_other(path):
    """A process that wants the next number gets it when the one before is done with its own."""
    script = f"from leastnoise import open_series; print(open_series({str(path)!r}).answer(0, 1))"
    started = None

    def meanwhile(handle, used):
        nonlocal started
        started = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        return inode.note(handle, used)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_draw, "note", meanwhile)
        assert open_series(path).answer(0, 1).number == 1
    out, _ = started.communicate()
    assert b"number=2" in out
