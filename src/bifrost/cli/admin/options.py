"""What the commands around the admin API have in common: their options, what they print, and their exit status.

Exit status: 0 done; 1 the API has refused, or does not answer; 2 the command line or a file that it names is wrong.
"""

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from bifrost.cli.admin.api_client import ApiClient, CannotAsk, NoAnswer, Refused

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", help="Where the admin API is. Default: BIFROST_CONTROL_URL, or http://127.0.0.1:9405."
    ),
]
TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", help="A file with the token. Default: BIFROST_CONTROL_TOKEN_FILE."),
]
CaOption = Annotated[
    Path | None,
    typer.Option("--ca-file", help="The CAs of the API's certificate. Default: BIFROST_CONTROL_CA_FILE."),
]
CertificateOption = Annotated[
    Path | None,
    typer.Option(
        "--certificate-file",
        help="A certificate and its key, to be shown. Default: BIFROST_CONTROL_CERTIFICATE_FILE.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the API's answer as JSON.")]


ARGUMENT = "api"
"""The parameter of a command that gets the client."""


def new_group(text: str) -> typer.Typer:
    """Return a group of commands with this help."""
    return typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=text)


def read_client(
    url: UrlOption = None,
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    certificate_file: CertificateOption = None,
) -> ApiClient:
    """Return the client that the options describe; its parameters are what a command declares.

    Raises:
        CannotAsk: an option or a file is wrong.
    """
    return ApiClient(url, token_file, ca_file, certificate_file)


def with_client(command: Callable[..., None]) -> Callable[..., None]:
    """Declare the options of the API on a command, after its own; the command gets the client as its `api`.

    An error of the client ends the command with its exit status.
    """
    shared = inspect.signature(read_client).parameters
    signature = inspect.signature(command)
    own = [one for name, one in signature.parameters.items() if name != ARGUMENT]

    @functools.wraps(command)
    def read_and_run(**given: Any) -> None:
        try:
            client = read_client(**{name: given.pop(name) for name in shared})
            command(**given, **{ARGUMENT: client})
        except CannotAsk as error:
            end(str(error), 2)
        except (NoAnswer, Refused) as error:
            end(str(error), 1)

    # Typer takes a command's options from its signature.
    read_and_run.__signature__ = signature.replace(parameters=[*own, *shared.values()])  # type: ignore[attr-defined]
    return read_and_run


def end(text: str, status: int) -> NoReturn:
    """End the command with a text and an exit status."""
    typer.echo(f"error: {text}", err=True)
    raise typer.Exit(status) from None


def print_json(document: Any) -> None:
    """Print what the API has answered."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows for a person: a table in a terminal, else a line of tabs for each, for other programs."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shown = [["" if one is None else str(one) for one in row] for row in rows]
    if not console.is_terminal:
        for row in shown:
            typer.echo("\t".join(row))
        return
    table = Table(*columns, box=None, pad_edge=False)
    for row in shown:
        table.add_row(*map(Text, row))
    console.print(table)
