"""Spark in local mode and a PostgreSQL server for tests; skipped with a reason where
there is none."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

# seconds after which a server that does not start or stop is a failure, on a busy machine too
_PATIENCE = 300.0


def need_spark():
    """PySpark's SQL; skipped where Spark cannot run."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, and there is no java here")
    return sql


@contextmanager
def spark():
    """An ibis connection to Spark in this process."""
    ibis = pytest.importorskip("ibis")
    sql = need_spark()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = sql.SparkSession.builder.master("local[1]").appName("leastnoise")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield ibis.pyspark.connect(session)
    session.stop()


def _server_programs():
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    found = shutil.which("initdb")
    return None if found is None else Path(found).parent


def _as_nobody(command):
    """PostgreSQL refuses to run as root: then it runs as the user nobody."""
    if os.geteuid() != 0:
        return command
    return [*("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"), *command]


@contextmanager
def postgres():
    """An ibis connection to a server of its own on loopback; `leastnoise_url` is its URL."""
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = _server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server programs: install the package postgresql")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL must not run as root, and there is no setpriv to change the user")
    home = Path(tempfile.mkdtemp(prefix="leastnoise-pg-"))
    if os.geteuid() == 0:
        shutil.chown(home, "nobody", "nogroup")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = home / "data"
    subprocess.run(
        _as_nobody(
            [
                str(programs / "initdb"),
                "-D",
                str(data),
                "-U",
                "steward",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ]
        ),
        check=True,
        capture_output=True,
        cwd=home,
    )
    options = [
        "-D",
        str(data),
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-k",
        str(home),
        "-c",
        "fsync=off",
    ]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            _as_nobody([str(programs / "postgres"), *options]), stdout=log, stderr=log, cwd=home
        )
    url = f"postgresql://steward@127.0.0.1:{port}/postgres"
    try:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                connected = ibis.connect(url)
                break
            except Exception:
                if server.poll() is not None or time.monotonic() > end:
                    pytest.fail(
                        "the PostgreSQL server did not start: "
                        + (home / "log").read_text(errors="replace")
                    )
                time.sleep(0.05)
        connected.leastnoise_url = url
        yield connected
        connected.disconnect()
    finally:
        server.send_signal(signal.SIGINT)  # at once: a failure leaves a client
        server.wait(_PATIENCE)
        shutil.rmtree(home, ignore_errors=True)
