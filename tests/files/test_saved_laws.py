"""Saved laws come back bit for bit; a file that is not what was saved is refused, and a failed save
harms nothing."""

import hashlib
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise
from leastnoise import Noise
from leastnoise.errors import InvalidFileError, LeastNoiseError, UnsupportedError
from leastnoise.files import writing
from leastnoise.laws.lattice import LatticeNoise

LAWS = [
    leastnoise.gaussian(0.1),
    leastnoise.gaussian(5e-324),
    leastnoise.laplace(1.7976931348623157e308),
    leastnoise.staircase(2.0),
    leastnoise.discrete_gaussian(1.3),
    leastnoise.discrete_laplace(0.3),
    leastnoise.cube(8.0, 10),
    leastnoise.generalized_gaussian(3.0, 0.7, sensitivity=3.0),
    LatticeNoise([1.0], None),
    LatticeNoise([0.0, 1.0 - 2**-53, 0.0, 2.5e-308, 5e-324], None, 0.1, "real", 3),
    LatticeNoise([0.5, 0.5, 5e-324], 5e-324, 1.0, "integer"),
    LatticeNoise([1.0 / 3.0, 2.0 / 3.0 * (1.0 - 0.1)], 0.1),
]


def write(path, law, **changes):
    """A file with this content and the checksum that belongs to it."""
    canonical = json.dumps(law, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    content = {
        "format": "leastnoise.noise",
        "version": 1,
        "sha256": hashlib.sha256(canonical.encode()).hexdigest(),
        "law": law,
    }
    path.write_text(json.dumps(content | changes))
    return path


@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_every_law_comes_back_bit_for_bit(noise, tmp_path):
    path = tmp_path / "law.json"
    noise.save(path)
    back = Noise.load(str(path))
    assert type(back) is type(noise)
    assert back == noise
    if isinstance(noise, LatticeNoise):
        assert back.shell_masses.tobytes() == noise.shell_masses.tobytes()
        assert not back.shell_masses.flags.writeable
    first = path.read_bytes()
    back.save(path)
    assert path.read_bytes() == first


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12).filter(lambda w: sum(w) > 0),
    st.floats(1e-300, 0.99),
    st.integers(1, 3),
)
def test_any_law_survives_json(weights, ratio, dimension):
    noise = LatticeNoise.from_weights([*weights, 1.0], ratio, step=0.1, dimension=dimension)
    back = Noise.from_description(json.loads(json.dumps(noise.describe())))
    assert back == noise


def test_the_file_is_plain_versioned_json(tmp_path):
    path = tmp_path / "law.json"
    leastnoise.gaussian(0.1).save(path)
    content = json.loads(path.read_text())
    assert content["format"] == "leastnoise.noise"
    assert content["version"] == 1
    assert content["law"] == {"kind": "gaussian", "sigma": "0x1.999999999999ap-4"}
    assert write(path, content["law"]).exists()
    assert Noise.load(path) == leastnoise.gaussian(0.1)


@pytest.mark.parametrize(
    "noise",
    [leastnoise.discrete_gaussian(1.0), leastnoise.cube(8.0, 3, domain="integer")],
    ids=repr,
)
def test_a_truncated_file_is_refused_wherever_it_ends(noise, tmp_path):
    path = tmp_path / "law.json"
    noise.save(path)
    whole = path.read_bytes()
    for end in [*range(0, len(whole) - 2, 50), len(whole) - 2]:
        path.write_bytes(whole[:end])
        with pytest.raises(InvalidFileError, match=r"truncated or damaged"):
            Noise.load(path)


def test_a_flipped_byte_is_refused_or_changes_nothing(tmp_path):
    path = tmp_path / "law.json"
    noise = leastnoise.discrete_gaussian(1.0)
    noise.save(path)
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole)):
        for bit in (1, 2, 32, 128):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            try:
                assert Noise.load(path) == noise, f"byte {place}"
            except InvalidFileError:
                refused += 1
    assert refused > 0.6 * 4 * len(whole)


GAUSSIAN = {"kind": "gaussian", "sigma": "0x1p+0"}
LATTICE = LatticeNoise([0.5, 0.25], 0.5).describe()


@pytest.mark.parametrize("version", [2, 0, None, "1", 1.5, True, [1]], ids=repr)
def test_other_versions_are_refused_by_number(version, tmp_path):
    with pytest.raises(InvalidFileError, match="version") as caught:
        Noise.load(write(tmp_path / "law.json", GAUSSIAN, version=version))
    assert repr(version) in str(caught.value)


@pytest.mark.parametrize(
    "law",
    [
        {"kind": "cauchy", "sigma": "0x1p+0"},
        {},
        {"kind": "gaussian"},
        {"kind": "gaussian", "sigma": "-0x1p+0"},
        {"kind": "gaussian", "sigma": "nan"},
        {"kind": "laplace", "sigma": "inf"},
        {"kind": "laplace", "sigma": "0x1p+5000"},
        {"kind": "gaussian", "sigma": 1.0},
        {"kind": ["gaussian"], "sigma": "0x1p+0"},
        LATTICE | {"shell_masses": ["0x1p-1", "0x1p-1"]},
        LATTICE | {"shell_masses": ["0x1p-1", "-0x1p-2"]},
        LATTICE | {"shell_masses": ["0x1p-1", "nan"]},
        LATTICE | {"shell_masses": ["0x1p-1", "0x1p+2000"]},
        LATTICE | {"shell_masses": ["0x1p-1", 0.25]},
        LATTICE | {"shell_masses": ["0x1p-1", "?"]},
        LATTICE | {"shell_masses": []},
        LATTICE | {"shell_masses": None},
        LATTICE | {"shell_masses": 3},
        LATTICE | {"shell_masses": {}},
        LATTICE | {"tail_ratio": "0x1p+0"},
        LATTICE | {"tail_ratio": 0.5},
        LATTICE | {"tail_ratio": None},
        LATTICE | {"step": "0x0p+0"},
        LATTICE | {"step": "0x1p-1", "domain": "integer"},
        LATTICE | {"domain": "reals"},
        LATTICE | {"domain": ["real"]},
        LATTICE | {"dimension": 0},
        LATTICE | {"dimension": 1.5},
        LATTICE | {"dimension": True},
        LATTICE | {"dimension": "1"},
        LATTICE | {"dimension": 2},
        LATTICE | {"dimension": 10**30},
        {key: value for key, value in LATTICE.items() if key != "step"},
    ],
    ids=repr,
)
def test_content_that_is_no_law_is_refused_though_its_checksum_is_right(law, tmp_path):
    path = write(tmp_path / "law.json", law)
    with pytest.raises(InvalidFileError) as caught:
        Noise.load(path)
    assert "does not describe a law" in str(caught.value)
    assert repr(str(path)) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not complete JSON"),
        ("noise", "not complete JSON"),
        ("\ufeff{}", "not complete JSON"),
        ("[" * 100_000, "not complete JSON"),
        (
            '{"format": "leastnoise.noise", "version": ' + "1" * 10_000 + "}",
            "not complete JSON",
        ),
        ("null", "not a saved noise law"),
        ("[]", "not a saved noise law"),
        ("{}", "not a saved noise law"),
        ('{"format": "other", "version": 1}', "not a saved noise law"),
        ('{"format": "leastnoise.noise", "version": 1}', "SHA-256"),
        (
            '{"format": "leastnoise.noise", "version": 1, "sha256": "", "law": {"kind": '
            '"gaussian", "sigma": "0x1p+0"}}',
            "SHA-256",
        ),
        ('{"format": "leastnoise.noise", "version": 1, "sha256": null, "law": []}', "SHA-256"),
    ],
    ids=lambda text: text[:30],
)
def test_other_files_are_refused(text, says, tmp_path):
    path = tmp_path / "law.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidFileError, match=says):
        Noise.load(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "law.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidFileError, match="not complete JSON"):
        Noise.load(path)


def test_missing_files_and_directories_are_refused_by_name(tmp_path):
    with pytest.raises(InvalidFileError, match=r"Cannot read '.*absent.json': No such file"):
        Noise.load(tmp_path / "absent.json")
    with pytest.raises(InvalidFileError, match=r"Cannot read .*directory"):
        Noise.load(tmp_path)
    with pytest.raises(LeastNoiseError):
        Noise.load("a\0b")


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_failed_save_leaves_the_old_file_whole_and_no_litter(broken, tmp_path, monkeypatch):
    path = tmp_path / "law.json"
    leastnoise.gaussian(1.0).save(path)
    old = path.read_bytes()

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="No space left"):
        leastnoise.discrete_gaussian(3.0).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["law.json"]
    assert Noise.load(path) == leastnoise.gaussian(1.0)


def test_a_target_that_cannot_be_a_file(tmp_path):
    with pytest.raises(OSError, match="directory"):
        leastnoise.gaussian(1.0).save(tmp_path)
    with pytest.raises(FileNotFoundError):
        leastnoise.gaussian(1.0).save(tmp_path / "absent" / "law.json")
    assert os.listdir(tmp_path) == []
    assert not [name for name in os.listdir(tmp_path.parent) if name.startswith(".leastnoise-")]


def test_saving_again_replaces_and_keeps_the_usual_permissions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long_name = "n" * 250 + ".json"
    leastnoise.gaussian(1.0).save(long_name)
    leastnoise.laplace(1.0).save(long_name)
    assert Noise.load(long_name) == leastnoise.laplace(1.0)
    (tmp_path / "plain").write_text("")
    assert os.stat(long_name).st_mode == os.stat("plain").st_mode


def test_only_known_laws_are_saved(tmp_path):
    other = type("OtherNoise", (Noise,), dict.fromkeys(Noise.__abstractmethods__))
    with pytest.raises(UnsupportedError, match="OtherNoise cannot be saved"):
        other().save(tmp_path / "law.json")
    assert os.listdir(tmp_path) == []


def test_numbers_of_other_types_are_saved_as_floats(tmp_path):
    noise = LatticeNoise(np.array([1, 0]), None, np.float32(0.1), "real", np.int32(2))
    noise.save(tmp_path / "law.json")
    assert Noise.load(tmp_path / "law.json") == noise


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    """`--out /dev/null`, by somebody who may write to /dev, made a plain file of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="Not a file that can be replaced"):
        writing.write_whole(pipe, "text")
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]
