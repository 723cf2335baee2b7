"""`bifrost reload`: let the gateway that runs with a configuration read it again, and print the result.

Exit status: 0 the gateway uses the file's new content, 1 it refuses it and goes on as before, 2 the gateway cannot be
reached or the command line is wrong.
"""

import http.client
import os
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

import typer

TIMEOUT_S = 300.0
"""Time for the whole reload: the gateway may derive verifiers from thousands of password files, which takes a minute,
and asks its clusters."""
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses by which this machine reaches a listener on all addresses."""


def reload(
    config: Annotated[
        Path, typer.Option("--config", "-c", help="The configuration that the gateway was started with.")
    ],
) -> None:
    """Let a running gateway on this machine read its configuration again."""
    from bifrost.config.config_source import SALT_KEY_BYTES, ConfigFiles
    from bifrost.config.errors import ConfigError

    try:
        admin = ConfigFiles(config, os.urandom(SALT_KEY_BYTES)).read().proxy.admin
    except ConfigError as error:
        # The gateway would report the same; it may have seen the change already, and goes on as before.
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    if admin is None:
        text = "the configuration has no proxy.admin to ask: add it, or send SIGHUP and look at the log"
        typer.echo(f"error: {text}", err=True)
        raise typer.Exit(2)
    try:
        status, text = _ask(WILDCARDS.get(admin.bind_host, admin.bind_host), admin.port)
    except (OSError, http.client.HTTPException) as error:
        where = f"{admin.bind_host}:{admin.port}"
        typer.echo(
            f"error: no gateway answers at {where} ({error}): does it run, with this configuration? If proxy.admin "
            "has changed, send SIGHUP and look at the log",
            err=True,
        )
        raise typer.Exit(2) from None
    typer.echo(text.rstrip(), err=status != HTTPStatus.OK)
    raise typer.Exit(0 if status == HTTPStatus.OK else 1 if status == HTTPStatus.UNPROCESSABLE_ENTITY else 2)


def _ask(host: str, port: int) -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("POST", "/reload")
        response = connection.getresponse()
        return response.status, response.read(1 << 20).decode("utf-8", "replace")
    finally:
        connection.close()
