"""The options of Spark that every job's command has: declared once, read into one object."""

from typing import Annotated

import typer

from bifrost.cli.jobs.shared_options import with_options
from bifrost.pipeline.spark.spark_session import SparkOptions, TableFormat

ARGUMENT = "spark_options"
"""The parameter of a command that gets the options."""


def read_spark_options(
    *,
    master: Annotated[
        str, typer.Option(help="Any master of Spark: local[*], spark://host:7077, yarn, k8s://...")
    ] = "local[*]",
    driver_memory: Annotated[
        str, typer.Option(help="Heap of the driver's JVM; with a local master all work is done in it.")
    ] = "1g",
    shuffle_partitions: Annotated[
        int, typer.Option(min=0, help="Parts of an exchange of rows; 0: one for each core, or Spark's.")
    ] = 0,
    table_format: Annotated[TableFormat, typer.Option(help="Of the tables.")] = "parquet",
    packages: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="What executors of a cluster import: see `bifrost pipeline packages`."
        ),
    ] = "",
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A further setting of Spark; may be repeated."),
    ] = None,
) -> SparkOptions:
    """Return the options; its parameters are what a command declares.

    Raises:
        typer.BadParameter: a setting is not KEY=VALUE.
    """
    settings = {}
    for one in conf or []:
        key, equals, value = one.partition("=")
        if not equals:
            raise typer.BadParameter(f"{one!r} is no KEY=VALUE", param_hint="--conf")
        settings[key] = value
    return SparkOptions(master, driver_memory, shuffle_partitions, table_format, settings, packages)


with_spark_options = with_options(ARGUMENT, read_spark_options)
"""Declares the options of Spark on a command, after its own; the command gets them as its `spark_options`."""
