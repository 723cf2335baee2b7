"""Writes a frame as one CSV file; Spark itself writes a folder of parts.

The executors write the parts in a hidden folder, in parallel. Then the driver joins them, so that the file is there
whole or not at all (`HadoopFiles.join`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bifrost.pipeline.spark.hadoop_files import HadoopFiles


def write_csv(frame: DataFrame, files: HadoopFiles, name: str) -> None:
    """Write the file `name` with a line of column names, and replace an older one.

    Args:
        frame: its column names need no quotes.
        files: the directory.
        name: of the file, e.g. `focus.csv`. A folder of this name, as older releases wrote it, is replaced too.
    """
    parts = f"_{name}"
    texts = {"header": "false", "escape": '"', "nullValue": ""}
    frame.write.mode("overwrite").options(**texts).csv(files.path(parts))
    files.join(parts, name, ",".join(frame.columns) + "\n")
