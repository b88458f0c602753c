"""Settings from query strings: every field is checked by itself, and says what it wants."""

import pickle

import pytest

from leastnoise import OneSided, cube, laplace
from leastnoise.changes import BOX, Box, Euclidean
from leastnoise.explorer.setting import InvalidSettingError, setting_from

GOOD = {
    "by": "epsilon",
    "epsilon": "1",
    "delta": "1e-6",
    "answers": "10",
    "asked": "together",
    "sensitivity": "1",
    "domain": "integer",
}


def errors(**fields: str) -> dict[str, str]:
    with pytest.raises(InvalidSettingError) as found:
        setting_from({**GOOD, **fields})
    return found.value.errors


def test_a_setting_is_a_request_to_the_designer():
    assert setting_from(GOOD).request() == {
        "delta": 1e-6,
        "epsilon": 1.0,
        "sensitivity": 1.0,
        "compositions": 1,
        "batch": 10,
        "domain": "integer",
    }
    apart = setting_from(
        {**GOOD, "by": "sigma", "sigma": " 8. ", "asked": "apart", "domain": "real"}
    )
    assert apart.request() == {
        "delta": 1e-6,
        "sigma": 8.0,
        "sensitivity": 1.0,
        "compositions": 10,
        "batch": 1,
        "domain": "real",
    }


def test_what_one_person_can_change_is_asked_of_answers_together():
    one_way = setting_from({**GOOD, "changes": "one-sided"})
    assert one_way.request()["changes"] == OneSided()
    assert one_way.fields()["changes"] == "one-sided"
    assert one_way.changes_of(cube(8.0, 10)) == OneSided()
    assert one_way.changes_of(laplace(8.0)) == BOX
    plain = setting_from({**GOOD, "changes": "box"})
    assert plain == setting_from(GOOD)  # silence means everything
    assert plain.fields()["changes"] == "box"
    assert plain.changes_of(cube(8.0, 10)) == BOX
    for alone in ({"asked": "apart"}, {"answers": "1"}):
        assert not setting_from({**GOOD, **alone, "changes": "one-sided"}).one_way


@pytest.mark.parametrize("word", ["", "sphere", "length", "One-Sided", "<b>", "1"])
def test_an_unknown_space_is_refused_beside_its_own_field(word):
    assert errors(changes=word) == {"changes": "Choose box or one-sided or euclidean."}


def test_how_many_answers_one_person_can_change():
    three = setting_from({**GOOD, "touched": " 3 "})
    assert three.request()["changes"] == three.changes_of(cube(8.0, 10)) == Box(3)
    assert (three.moved, three.fields()["touched"]) == (3, 3)
    assert three.changes_of(laplace(8.0)) == BOX
    one_way = setting_from({**GOOD, "changes": "one-sided", "touched": "3"})
    assert one_way.request()["changes"] == OneSided(3)
    for everything in ("", "  ", "10", "10.0", "11"):
        assert setting_from({**GOOD, "touched": everything}) == setting_from(GOOD)
    for alone in ({"asked": "apart"}, {"answers": "1"}, {"changes": "euclidean", "domain": "real"}):
        assert setting_from({**GOOD, **alone, "touched": "none"}).touched is None
    for wrong in ("0", "1001", "2.5", "-1", "all", "nan"):
        found = errors(touched=wrong)
        assert list(found) == ["touched"]
        assert "a whole number below 10, or nothing" in found["touched"]


def test_a_length_of_all_changes_together():
    long = setting_from({**GOOD, "changes": "euclidean", "length": "1.5", "domain": "real"})
    assert long.request()["changes"] == long.changes_of(laplace(8.0)) == Euclidean(1.5)
    assert long.fields() | {"length": 1.5, "changes": "euclidean"} == long.fields()
    assert setting_from({**GOOD, "length": "none"}) == setting_from(GOOD)  # it belongs to nothing
    whole = {"changes": "euclidean", "length": "1"}
    assert "Choose real numbers" in errors(**whole)["domain"]
    for wrong in ("", "0", "1e9", "a"):
        assert "length" in errors(**{**whole, "domain": "real", "length": wrong})


def test_a_cap_on_the_attackers_advantage():
    capped = setting_from({**GOOD, "advantage": " 0.2 "})
    assert capped.request() == setting_from(GOOD).request() | {"advantage": 0.2}
    assert capped.fields()["advantage"] == 0.2
    for nothing in ("", "  "):
        assert setting_from({**GOOD, "advantage": nothing}) == setting_from(GOOD)
    by_sigma = {**GOOD, "by": "sigma", "sigma": "8", "advantage": "0.2"}
    assert setting_from(by_sigma).advantage is None  # what a sigma leaves is told, not asked for
    for wrong in ("0", "1", "-0.1", "60 %", "nan", "0,2"):
        assert list(errors(advantage=wrong)) == ["advantage"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "nan",
        "inf",
        "-1",
        "0",
        "1e",
        "1_000",
        "0x10",
        "1e999",
        "51",
        "१",
        "<b>",
        "1 2",
        "9" * 200,
        "1e-4",
        "--1",
    ],
)
def test_nonsense_is_refused_beside_its_own_field(text):
    found = errors(epsilon=text)
    assert list(found) == ["epsilon"]
    assert found["epsilon"].endswith((".", "…"))


def test_a_decimal_comma_is_explained():
    assert errors(epsilon="1,5")["epsilon"] == "Write the decimal sign as a point: 1.5"


@pytest.mark.parametrize(
    "text", ["0", "1.5", "1001", "ten", "-3", "1e2", "", "99999999999999999999999"]
)
def test_the_number_of_answers_is_a_whole_number(text):
    assert list(errors(answers=text, asked="apart")) == ["answers"]


def test_more_answers_one_by_one_than_together():
    assert "100" in errors(answers="101")["answers"]
    assert setting_from({**GOOD, "answers": "101", "asked": "apart"}).compositions == 101


def test_whole_numbers_move_by_whole_numbers():
    assert list(errors(sensitivity="1.5")) == ["sensitivity"]
    assert setting_from({**GOOD, "sensitivity": "1.5", "domain": "real"}).sensitivity == 1.5


def test_all_fields_are_told_at_once_and_unknown_ones_are_refused():
    found = errors(
        epsilon="x",
        delta="2",
        answers="?",
        asked="never",
        sensitivity="",
        domain="complex",
        path="/etc/passwd",
    )
    assert set(found) == {"epsilon", "delta", "answers", "asked", "sensitivity", "domain", "path"}
    assert set(errors(by="rumour")) == {"by"}


@pytest.mark.parametrize("sigma", ["0.0009", "2001", "1e8"])
def test_the_standard_deviation_is_within_reach_of_the_sensitivity(sigma):
    assert "between 0.001 and 2,000" in errors(by="sigma", sigma=sigma, domain="real")["sigma"]
    assert (
        setting_from({**GOOD, "by": "sigma", "sigma": "0.0009"}).sigma == 9e-4
    )  # whole numbers may have less
    assert setting_from({**GOOD, "by": "sigma", "sigma": "20000", "sensitivity": "10"}).sigma == 2e4


def test_one_answer_is_the_same_together_and_apart():
    assert setting_from({**GOOD, "answers": "1"}) == setting_from(
        {**GOOD, "answers": "1", "asked": "apart"}
    )


def test_errors_come_back_from_a_worker():
    error = InvalidSettingError({"epsilon": "No."})
    assert pickle.loads(pickle.dumps(error)).errors == error.errors
