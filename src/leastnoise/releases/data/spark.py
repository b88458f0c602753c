"""Tables of Spark: of the session of the process, or a frame, counted where it is."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from os import PathLike
from typing import Any

from leastnoise.optional import required as extra
from leastnoise.releases.data.named_tables import named
from leastnoise.releases.data.scratch import Scratch, closing
from leastnoise.releases.data.table import PARQUET_ADVICE, Table


def session_table(ibis: Any, table: str, scratch: str | PathLike[str] | None) -> Table:
    """A table of the session of the process, which stays open. Where there is none, one is made,
    with its folders in the private one: by default Spark makes some of them in the working folder,
    and all of them readable by everybody."""
    sessions = extra("pyspark.sql", "spark").SparkSession
    folder = Scratch(scratch)
    close = folder.close
    try:
        name = f"leastnoise-{uuid.uuid4().hex}"
        places = {
            "spark.sql.warehouse.dir": f"{folder.path}/warehouse",
            "spark.local.dir": str(folder.path),
        }
        session = (
            sessions.getActiveSession()
            or sessions.builder.appName(name).config(map=places).getOrCreate()
        )
        connected = ibis.pyspark.connect(session)
        # To disconnect is to stop the session, and one that was there before is not ours to stop.
        if session.sparkContext.appName == name:
            close = closing(connected, folder)
        return spark_table(connected, named(connected, table), close)
    except BaseException:
        close()
        raise


def frame_table(ibis: Any, frame: Any) -> Table:
    """A frame of Spark, counted where it is: a view, gone in the end. The session stays open."""
    session, name = frame.sparkSession, f"ln_frame_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)

    def close() -> None:
        session.catalog.dropTempView(name)

    try:
        connected = ibis.pyspark.connect(session)
        return spark_table(connected, connected.table(name), close)
    except BaseException:
        close()
        raise


def spark_table(
    connected: Any, expression: Any, close: Callable[[], object] = lambda: None
) -> Table:
    is_files = _is_files(connected, expression)
    return Table(expression, connected.name, close, PARQUET_ADVICE if is_files else "", is_files)


def _is_files(connected: Any, expression: Any) -> bool:
    """Whether Spark would read files of typed columns, and compute nothing from them.

    A view may fail on the values of a row, and other formats may, where a text is no number:
    whether those can be read to their end is a matter of the rows.
    """
    try:
        frame = connected._session.sql(connected.compile(expression))
        plan = frame._jdf.queryExecution().optimizedPlan()
        if plan.getClass().getSimpleName() != "LogicalRelation":
            return False
        relation = plan.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation":
            return False
        file_format = relation.fileFormat().getClass().getSimpleName()
        return file_format in ("ParquetFileFormat", "OrcFileFormat")
    except Exception:
        # Spark Connect shows no plan; what is wrong is said by whoever asks for columns.
        return False
