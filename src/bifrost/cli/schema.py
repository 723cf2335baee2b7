"""`bifrost schema`: the JSON Schema of the configuration, for editors; docs/config.schema.json is what it prints.

Exit status: 0 it is on standard output, 2 the command line is wrong.
"""

import typer

from bifrost.config.json_schema import schema_text


def schema() -> None:
    """Print the JSON Schema of the configuration, for editors."""
    typer.echo(schema_text(), nl=False)
