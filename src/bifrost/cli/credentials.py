"""`bifrost credentials`: the verifiers of a password, which a `scram_file` holds instead of the password.

At a terminal the command asks for the password without showing it; else it reads it from standard input. It never takes
it from the command line, which other users of the machine can see. Exit status: 0 the lines are on standard output; 1
there was no password; 2 the command line is wrong.
"""

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from bifrost.config.fields.verifiers import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    NEW_SALT_BYTES,
    SCRAM_HASHES,
    Mechanism,
    ScramVerifier,
)

DEFAULT_ITERATIONS = 8192
"""Twice Kafka's own default: some 3 to 6 ms for every login, at the gateway and at the client."""

MAX_PASSWORD_BYTES = 4096
"""Most bytes of a password, as of a password file; more is probably the wrong input."""


class ScramMechanism(StrEnum):
    """The mechanisms that have verifiers."""

    SCRAM_SHA_256 = Mechanism.SCRAM_SHA_256.value
    SCRAM_SHA_512 = Mechanism.SCRAM_SHA_512.value


def credentials(
    username: Annotated[
        str, typer.Option("--username", "-u", help="The user: for the prompt, and a comment above the lines.")
    ],
    mechanism: Annotated[
        list[ScramMechanism] | None, typer.Option(help="One of the two, or both. Default: both.")
    ] = None,
    iterations: Annotated[
        int, typer.Option(min=MIN_ITERATIONS, max=MAX_ITERATIONS, help="Rounds of PBKDF2.")
    ] = DEFAULT_ITERATIONS,
) -> None:
    """Make the SCRAM verifiers of a password, for a credential's scram_file."""
    if not username.strip() or not username.isprintable():
        raise typer.BadParameter("write 1 or more printable characters", param_hint="'--username'")
    try:
        password = _ask(username) if sys.stdin.isatty() else _read_input()
    except ValueError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    wanted = {str(one) for one in mechanism or ScramMechanism}
    typer.echo(f"# {username}")
    for one in SCRAM_HASHES:
        if one in wanted:
            salt = os.urandom(NEW_SALT_BYTES)
            typer.echo(ScramVerifier.derive(one, password, salt, iterations).to_line())


def _ask(username: str) -> bytes:
    import getpass

    try:
        password = getpass.getpass(f"Password of {username}: ")
        again = getpass.getpass("Once more: ")
    except EOFError:
        raise ValueError("no password was given") from None
    if password != again:
        raise ValueError("the two passwords differ")
    return _checked(password.encode())


def _read_input() -> bytes:
    password = sys.stdin.buffer.read(MAX_PASSWORD_BYTES + 1)
    return _checked(password.removesuffix(b"\n").removesuffix(b"\r"))


def _checked(password: bytes) -> bytes:
    if not password.strip():
        raise ValueError("no password was given: write it to standard input, or run this at a terminal")
    if len(password) > MAX_PASSWORD_BYTES:
        raise ValueError(f"the password is larger than {MAX_PASSWORD_BYTES} bytes")
    if b"\0" in password or b"\n" in password:
        raise ValueError("the password has a NUL byte or a line break in it")
    return password
