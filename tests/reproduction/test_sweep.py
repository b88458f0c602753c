"""Cells over processes, executors and a Dask cluster; finished ones are kept."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from leastnoise.errors import InvalidParameterError
from leastnoise.reproduction.cell import cell_at, computed
from leastnoise.reproduction.sweep import Options, SweepWorkers, sweep, wall_seconds

HERE = SweepWorkers(processes=1)
CELLS = [{"x": x} for x in (3, 1, 2)]
calls: list[int] = []


def doubled(cell):
    calls.append(cell["x"])
    return {"y": 2 * cell["x"], "thread": threading.get_ident(), "process": os.getpid()}


def fails_at_two(cell):
    if cell["x"] == 2:
        raise ValueError("two")
    return {"y": cell["x"]}


@pytest.fixture(autouse=True)
def _no_calls():
    calls.clear()


def answers(results):
    return [result["y"] for result in results]


def test_results_come_in_the_order_of_the_cells():
    assert answers(sweep(doubled, CELLS, workers=HERE)) == [6, 2, 4]
    assert calls == [3, 1, 2]


def test_finished_cells_are_kept(tmp_path):
    store = tmp_path / "new" / "cells.jsonl"
    first = sweep(doubled, CELLS, workers=HERE, store=store)
    again = sweep(doubled, [*CELLS, {"x": 7}], workers=HERE, store=store)
    assert calls == [3, 1, 2, 7]
    assert again[:3] == first
    assert wall_seconds(again) >= wall_seconds(first) >= 0.0
    assert len(store.read_text().splitlines()) == 4


def test_another_function_or_number_is_another_cell(tmp_path):
    store = tmp_path / "cells.jsonl"
    sweep(doubled, CELLS, workers=HERE, store=store)
    assert answers(sweep(fails_at_two, [{"x": 3}], workers=HERE, store=store)) == [3]
    sweep(doubled, [{"x": 3, "more": 1}], workers=HERE, store=store)
    assert calls == [3, 1, 2, 3]


def test_a_torn_line_is_passed_over(tmp_path):
    store = tmp_path / "cells.jsonl"
    sweep(doubled, CELLS, workers=HERE, store=store)
    whole = store.read_text()
    store.write_text(whole[:-10])
    sweep(doubled, CELLS, workers=HERE, store=store)
    assert calls == [3, 1, 2, 2]
    parsed = []
    for line in store.read_text().splitlines():
        try:
            parsed.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    assert len(parsed) == 3


def test_an_error_keeps_what_was_finished(tmp_path):
    store = tmp_path / "cells.jsonl"
    with pytest.raises(ValueError, match="two"):
        sweep(fails_at_two, CELLS, workers=HERE, store=store)
    assert len(store.read_text().splitlines()) == 2


def test_any_executor():
    with ThreadPoolExecutor(2) as executor:
        results = sweep(doubled, CELLS, workers=SweepWorkers(executor=executor))
        assert answers(results) == [6, 2, 4]
        assert threading.get_ident() not in {result["thread"] for result in results}
        assert executor.submit(int, "1").result() == 1  # the caller's executor stays open


def test_processes():
    cells = [cell_at(8.0, n, 1e-6, 3) for n in (2, 3)]
    before = dict(os.environ)
    results = sweep(computed, cells, workers=SweepWorkers(processes=2))
    assert dict(os.environ) == before
    assert [result["compositions"] for result in results] == [2, 3]
    assert all(result["gain"] >= -1e-9 for result in results)


def test_dask_scheduler(tmp_path):
    distributed = pytest.importorskip("distributed")
    store = tmp_path / "cells.jsonl"
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=None,
        protocol="tcp",
        host="127.0.0.1",
    ) as cluster:
        results = sweep(
            doubled, CELLS, workers=SweepWorkers(scheduler=cluster.scheduler_address), store=store
        )
    assert answers(results) == [6, 2, 4]
    assert len(store.read_text().splitlines()) == 3


def test_nothing_is_printed_without_a_terminal(capsys):
    sweep(doubled, CELLS, workers=HERE, label="quiet")
    assert capsys.readouterr() == ("", "")


def test_workers_are_checked():
    with pytest.raises(InvalidParameterError, match="processes"):
        SweepWorkers(processes=0)
    with ThreadPoolExecutor(1) as executor, pytest.raises(InvalidParameterError, match="scheduler"):
        SweepWorkers(scheduler="tcp://127.0.0.1:1", executor=executor)


def test_where_cells_are_kept(tmp_path):
    assert Options().store_for("fig4") is None
    assert Options(store=tmp_path).store_for("fig4") == tmp_path / "fig4.cells.jsonl"
