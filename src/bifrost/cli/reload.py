"""`bifrost reload`: let the gateway that runs with a configuration read it again, and print the result.

Exit status: 0 the gateway uses the file's new content, 1 it refuses it and goes on as before, 2 the gateway cannot be
reached or the command line is wrong.

It asks at `proxy.admin` of the file. Where that section has changed since the gateway read it, `--admin` says where the
gateway still is; with the reload the gateway moves.
"""

import http.client
import shlex
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from bifrost.config.values import Address

TIMEOUT_S = 300.0
"""Time for the whole reload: the gateway may derive verifiers from thousands of password files, which takes a minute,
and asks its clusters."""
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses by which this machine reaches a listener on all addresses."""


def reload(
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The configuration that the gateway was started with."),
    ] = None,
    admin: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where the gateway has its proxy.admin now. Default: what the configuration says.",
        ),
    ] = None,
) -> None:
    """Let a running gateway read its configuration again."""
    where = None if admin is None else _address(admin)
    if config is not None:
        settings = _admin_of(config)
        if where is None and settings is None:
            text = "the configuration has no proxy.admin to ask: add it, or send SIGHUP and look at the log"
            _end(f"{text}. {_moved(config)}")
        where = where or settings
    if where is None:
        _end("which gateway? Add --config FILE, or --admin HOST:PORT")
    try:
        status, text = _ask(WILDCARDS.get(where.host, where.host), where.port)
    except (OSError, http.client.HTTPException) as error:
        hint = "" if config is None or admin is not None else f" {_moved(config)}"
        _end(f"no gateway answers at {where} ({error}): does it run, with this proxy.admin?{hint}")
    typer.echo(text.rstrip(), err=status != HTTPStatus.OK)
    raise typer.Exit(0 if status == HTTPStatus.OK else 1 if status == HTTPStatus.UNPROCESSABLE_ENTITY else 2)


def _admin_of(config: Path) -> "Address | None":
    """Return the address of `proxy.admin` in a configuration, None without one; end the command if it does not load."""
    from bifrost.cli.loading import config_files, read_config
    from bifrost.config.values import Address

    # The gateway would refuse it for the same reason; it may have seen the change already, and goes on as before.
    settings = read_config(config_files(config), status=1).proxy.admin
    return None if settings is None else Address(settings.bind_host, settings.port)


def _address(text: str) -> "Address":
    """Return the address of `--admin`; end the command if it is none."""
    from bifrost.config.values import read_address

    try:
        return read_address(text)
    except ValueError:
        _end(f"--admin {text!r} is no address: write HOST:PORT, e.g. 127.0.0.1:9404")


def _moved(config: Path) -> str:
    """Return what to do when the section was changed after the gateway began to use it."""
    command = f"bifrost reload --config {shlex.quote(str(config))} --admin HOST:PORT"
    return f"If proxy.admin was changed, the gateway is still where it was before: say where, {command}"


def _end(text: str) -> NoReturn:
    typer.echo(f"error: {text}", err=True)
    raise typer.Exit(2)


def _ask(host: str, port: int) -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("POST", "/reload")
        response = connection.getresponse()
        return response.status, response.read(1 << 20).decode("utf-8", "replace")
    finally:
        connection.close()
