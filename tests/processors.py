"""The tests marked `portable` once more, as processors compute that are older than this one. `make
portable` runs it.

`--every`, before what is for pytest, adds other kernels of OpenBLAS by themselves.

What differs between processors is which vector units numpy's loops use (NPY_DISABLE_CPU_FEATURES
takes them away), which kernels OpenBLAS chooses (OPENBLAS_CORETYPE) and which exp, log and sin the
C library has (GLIBC_TUNABLES). What this machine has not got anyway cannot be taken away, so
elsewhere there may be fewer runs, or none.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
# numpy's names for vector units, of its older releases and of 2.4.
_AVX512 = (
    "AVX512F",
    "AVX512CD",
    "AVX512_SKX",
    "AVX512_CLX",
    "AVX512_CNL",
    "AVX512_ICL",
    "AVX512_SPR",
    "X86_V4",
)
_AVX2 = ("AVX2", "FMA3", "X86_V3")


def usable() -> set[str]:
    """The vector units that numpy uses in this process and can be told not to."""
    try:
        from numpy._core import _multiarray_umath as found  # type: ignore[attr-defined]
    except ImportError:  # numpy 1
        from numpy.core import _multiarray_umath as found  # type: ignore[no-redef]
    return {name for name in found.__cpu_dispatch__ if found.__cpu_features__.get(name)}


def units() -> set[str]:
    """The same for this machine, whatever is turned off already."""
    code = "import processors; print(*processors.usable())"
    here = {name: value for name, value in os.environ.items() if name != "NPY_DISABLE_CPU_FEATURES"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=here,
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def environments(*, every: bool = False) -> dict[str, dict[str, str]]:
    """What to set for each other processor that this one can stand for; with `every` for other
    kernels alone, too."""
    known, found = units(), {}
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {}
    if without := [name for name in _AVX512 if name in known]:
        found["without AVX-512"] = {
            "NPY_DISABLE_CPU_FEATURES": " ".join(without),
            "OPENBLAS_CORETYPE": "Zen",
        }
        if every:
            found["with the kernels of a Skylake"] = {"OPENBLAS_CORETYPE": "SkylakeX"}
    if without := [name for name in (*_AVX512, *_AVX2) if name in known]:
        found["without AVX2"] = {
            "NPY_DISABLE_CPU_FEATURES": " ".join(without),
            "OPENBLAS_CORETYPE": "Prescott",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4",
        }
        if every:
            found["with the kernels of a Haswell"] = {"OPENBLAS_CORETYPE": "Haswell"}
    return found


def main(arguments: list[str]) -> int:
    """Run them all, also after one that failed; the number of runs that did."""
    failed, every = [], arguments[:1] == ["--every"]
    arguments = arguments[every:]
    for name, settings in environments(every=every).items():
        print(
            f"--- {name}: {' '.join(f'{key}={value!r}' for key, value in settings.items())}",
            flush=True,
        )
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "portable",
            *(arguments or ["-n", "2"]),
            str(TESTS),
        ]
        if subprocess.run(
            command, env={**os.environ, **settings}, cwd=TESTS.parent, check=False
        ).returncode:
            failed.append(name)
    print(
        f"Failed: {', '.join(failed)}."
        if failed
        else "The same on every processor that this one can stand for."
    )
    return len(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
