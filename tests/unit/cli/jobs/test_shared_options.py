from typing import Annotated

import typer
from typer.testing import CliRunner

from bifrost.cli.jobs.shared_options import with_options


def read_pair(
    *, first: Annotated[str, typer.Option()], second: Annotated[int, typer.Option("--other")] = 2
) -> tuple[str, int]:
    return first, second


def read_flag(*, quiet: bool = False) -> bool:
    return quiet


given: list[object] = []
app = typer.Typer()


@app.command()
@with_options("flag", read_flag)
@with_options("pair", read_pair)
def command(pair: tuple[str, int], flag: bool, own: str = "") -> None:
    given.append((pair, flag, own))


def test_a_command_gets_each_group_of_options_as_one_object() -> None:
    given.clear()

    done = CliRunner().invoke(app, ["--own", "o", "--first", "a", "--other", "3", "--quiet"])

    assert done.exit_code == 0, done.output
    assert given == [(("a", 3), True, "o")]


def test_an_option_without_a_default_is_required() -> None:
    done = CliRunner().invoke(app, ["--own", "o"])

    assert done.exit_code == 2
    assert "--first" in done.output
