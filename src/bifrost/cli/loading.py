"""How a command reads the configuration that it is given."""

import os
from pathlib import Path

import typer

from bifrost.config.config_source import SALT_KEY_BYTES, ConfigFiles
from bifrost.config.errors import ConfigError
from bifrost.config.model import Config


def config_files(path: Path) -> ConfigFiles:
    """Return the source of a configuration, a file or a folder, for a command that serves no clients."""
    return ConfigFiles(path, os.urandom(SALT_KEY_BYTES))


def read_config(source: ConfigFiles, *, status: int = 2) -> Config:
    """Return the configuration; print everything that is wrong with it, and end the command, if it is not valid.

    Args:
        source: where it is.
        status: the exit status of a configuration that is not valid.
    """
    try:
        return source.read()
    except ConfigError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(status) from None
