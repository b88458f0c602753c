"""Fuzzing of every reader of files from others: ten minutes, or as many seconds as FUZZ_SECONDS
says.

`python -m benchmarks fuzz`. Files are made and read as `_fuzz` says, each reader in a process of
its own with a limit on processor time and memory for each input. FUZZ_SEED is the first seed,
counted up by one for 100 inputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from benchmarks._fuzz import READERS


def main() -> None:
    seconds, first_seed = (
        float(os.environ.get("FUZZ_SECONDS", "600")),
        os.environ.get("FUZZ_SEED", "1"),
    )
    print(
        f"{'reader':9} {'tried':>8} {'refused':>8} {'accepted':>8} {'worst ms':>9} "
        f"{'worst MB':>9} {'crashes':>8}"
    )
    endings, total = [], 0
    for name in READERS:
        command = [
            sys.executable,
            "-m",
            "benchmarks._fuzz",
            name,
            f"{seconds / len(READERS)}s",
            first_seed,
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(f"{name:9} ended with {done.returncode}")
            endings.append(f"{name} ended with {done.returncode}")
            continue
        found = json.loads(done.stdout)
        counts = f"{found['tried']:8} {found['refused']:8} {found['accepted']:8}"
        print(
            f"{name:9} {counts} {1e3 * found['worst_seconds']:9.1f} "
            f"{found['worst_megabytes']:9.1f} {found['crashes']:8}",
            flush=True,
        )
        endings += [f"{name}: {ending}" for ending in found["endings"]]
        total += found["tried"]
    print(f"\n{total} inputs in {seconds:g} s, first seed {first_seed}.")
    for ending in endings:
        print(ending)
    if endings:
        sys.exit(1)
