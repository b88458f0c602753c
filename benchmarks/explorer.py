"""The explorer: how long the page waits, beside the bare function call, over random settings of its
own sliders.

python -m benchmarks explorer             200 settings, and 200 plans as the form makes them
python benchmarks/explorer.py --count 20  fewer

A setting is asked for as the page does: the design at once, what the known laws need 40 ms later if
it is not there yet, then the known laws as curves, the privacy curve, and ε against the number of
answers. Times are those on the wall, for that is what a person waits for; the load of the machine
is printed beside them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
from typing import Any

from leastnoise import design
from leastnoise.explorer.planning import plan_first
from leastnoise.explorer.setting import setting_from

HEAD_START = 0.04
ANSWERS = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)


def random_settings(count: int) -> list[dict[str, str]]:
    """Positions of the sliders, all fields free, from a fixed seed."""
    choose = random.Random(10)

    def grid(low: int, high: int, steps: tuple[float, ...]) -> list[float]:
        return [float(f"{step}e{exponent}") for exponent in range(low, high) for step in steps]

    fine = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    found = []
    for _ in range(count):
        sensitivity = choose.choice([1, 1, 1, 2, 5, 10])
        found.append(
            {
                "by": (by := choose.choice(["epsilon", "sigma"])),
                by: str(
                    choose.choice(grid(-1, 1, fine))
                    if by == "epsilon"
                    else sensitivity * choose.choice(grid(0, 2, fine))
                ),
                "delta": str(choose.choice(grid(-9, -4, (1, 2, 5)))),
                "answers": str(choose.choice(ANSWERS)),
                "asked": choose.choice(["together", "apart"]),
                "sensitivity": str(sensitivity),
                "domain": choose.choice(["integer", "real"]),
            }
        )
    return found


def random_plans(count: int) -> list[str]:
    """Questions of the form of a plan: who is protected, one to four statistics, bounds, keys."""
    choose = random.Random(11)

    def statistic(is_person: bool) -> dict[str, Any]:
        kind = choose.choice(["count", "sum", "mean", "persons" if is_person else "count"])
        keys = ", ".join(f"k{i}" for i in range(choose.choice([2, 4, 8, 20])))
        groups = [{"column": "ward", "keys": keys}] if choose.random() < 0.4 else []
        if kind in ("count", "persons"):
            return {"kind": kind, "groups": groups}
        column, upper = choose.choice([("age", 100), ("cost", 5000), ("score", 1)])
        bounds = {"column": column, "lower": "0", "upper": str(upper)}
        return {"kind": kind, "groups": groups, "expected_n": "1000", **bounds}

    found = []
    for _ in range(count):
        is_person = choose.random() < 0.6
        asked = {json.dumps(statistic(is_person)): None for _ in range(choose.randint(1, 4))}
        form = {
            "name": "visits",
            "epsilon": str(choose.choice([0.1, 0.25, 0.5, 1, 2, 4])),
            "delta": choose.choice(["", "1e-7", "1e-9"]),
            "relation": "add/remove",
            "person": "patient" if is_person else None,
            "rows_per_person": str(choose.choice([1, 2, 4, 10])),
            "groups_per_person": "1",
            "source": {"csv": "visits.csv"},
            "statistics": [json.loads(one) for one in asked],
        }
        found.append(json.dumps({"form": form}))
    return found


def seconds_of(ask: Any) -> float:
    begin = time.perf_counter()
    ask()
    return time.perf_counter() - begin


class Client:
    """One connection a question, as a browser keeps several."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, kind: str, query: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", f"/api/{kind}?{query}")
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def first_of_plan(self, question: str) -> int:
        """The status of the first answer to a plan."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        told = {"content-type": "application/json"}
        connection.request("POST", "/api/plan/first", question.encode(), told)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def visit(self, fields: dict[str, str]) -> dict[str, float]:
        """Seconds until the first answer, the design, and everything; where there is no design, the
        first answer alone."""
        query = urllib.parse.urlencode(fields)
        begin = time.perf_counter()
        at: dict[str, float] = {}
        status: dict[str, int] = {}

        def question(kind: str) -> None:
            status[kind] = self.ask(kind, query)
            at[kind] = time.perf_counter() - begin

        main = threading.Thread(target=question, args=("design",))
        main.start()
        main.join(HEAD_START)
        if main.is_alive():
            early = threading.Thread(target=question, args=("known",))
            early.start()
            main.join()
            early.join()
        if status["design"] != 200:
            return {"first": at.get("known", at["design"]), "status": float(status["design"])}
        further = [
            threading.Thread(target=question, args=(kind,)) for kind in ("laws", "curve", "numbers")
        ]
        for thread in further:
            thread.start()
        for thread in further:
            thread.join()
        again = seconds_of(lambda: self.ask("design", query))
        return {
            "first": min(at["design"], at.get("known", 9e9)),
            "design": at["design"],
            "all": max(at.values()),
            "again": again,
        }


def line(name: str, values: list[float]) -> None:
    ordered = sorted(values)
    share = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    within = [sum(value <= limit for value in ordered) / len(ordered) for limit in (0.3, 1.0)]
    print(
        f"{name:38} {1e3 * statistics.median(ordered):8.0f} {1e3 * share:8.0f} "
        f"{1e3 * ordered[-1]:8.0f}"
        f" {100 * within[0]:9.0f} % {100 * within[1]:8.0f} %  ({len(ordered)})"
    )


def plans(client: Client, count: int) -> None:
    """The first answer to plans, beside the processor time of its making."""
    waited, busy, refused = [], [], 0
    for question in random_plans(count):
        begin = time.perf_counter()
        status = client.first_of_plan(question)
        seconds = time.perf_counter() - begin
        if status != 200:
            refused += 1
            continue
        waited.append(seconds)
        start = time.process_time()
        plan_first(question)
        busy.append(time.process_time() - start)
    line("first answer to a plan", waited)
    line("the same, its processor time alone", busy)
    print(f"plans that were refused: {refused}")


def main(count: int = 200) -> None:
    command = [
        sys.executable,
        "-c",
        "from leastnoise.cli import main; main()",
        "serve",
        "--port",
        "0",
        "--no-open",
        "--json",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        text = "".join(server.stdout.readline() for _ in range(3)) if server.stdout else ""
        client = Client(urllib.parse.urlsplit(json.loads(text)["url"]).port or 0)
        time.sleep(2.0)  # the page's first setting is computed on its own
        bare, processor, visits, late = [], [], [], []
        load = os.getloadavg()[0]
        for fields in random_settings(count):
            found = client.visit(fields)
            if "design" not in found:
                late.append((fields, found))
                continue
            visits.append(found)
            request = setting_from(fields).request()
            busy = time.process_time()
            bare.append(seconds_of(lambda request=request: design(**request)))
            processor.append(time.process_time() - busy)
        print(
            f"{'milliseconds':38} {'median':>8} {'95th':>8} {'worst':>8} {'≤ 300 ms':>11} "
            f"{'≤ 1 s':>10}"
        )
        line("design(), bare call", bare)
        line("design(), its processor time alone", processor)
        line(
            "first answer on the page",
            [one["first"] for one in visits] + [one["first"] for _, one in late],
        )
        line("design on the page", [one["design"] for one in visits])
        line("everything on the page", [one["all"] for one in visits])
        line("the same setting again", [one["again"] for one in visits])
        plans(client, count)
        print(f"\nwithout a design: {len(late)}")
        for fields, found in late:
            print(
                f"  {'time limit' if found['status'] == 504 else 'refused'}: "
                f"{urllib.parse.urlencode(fields)}"
            )
        print(
            f"load of the machine {load:.1f} before, {os.getloadavg()[0]:.1f} after, "
            f"{os.cpu_count()} processors"
        )
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    main(parser.parse_args().count)
