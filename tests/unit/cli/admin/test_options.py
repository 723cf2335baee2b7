import pytest
import typer
from typer.testing import CliRunner

from bifrost.cli.admin.api_client import ApiClient, CannotAsk, NoAnswer, Refused
from bifrost.cli.admin.options import new_group, print_json, print_table, with_client


def run(error: Exception | None, *arguments: str) -> tuple[int, str, str]:
    """Run a command of a group that raises an error."""
    group = new_group("Help.")

    @group.command("one")
    @with_client
    def one(api: ApiClient, name: str) -> None:
        """Do one thing."""
        typer.echo(f"name {name}")
        if error is not None:
            raise error

    @group.command("two")
    def two() -> None:
        """Do another."""

    result = CliRunner().invoke(group, ["one", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, 0), (CannotAsk("wrong"), 2), (NoAnswer("away"), 1), (Refused(409, {"detail": "no"}), 1)],
)
def test_an_error_is_an_exit_status(error: Exception | None, status: int) -> None:
    expected = "" if error is None else f"error: {error}\n"

    assert run(error, "acme") == (status, "name acme\n", expected)


def test_an_option_that_cannot_be_used_ends_the_command_before_it_begins() -> None:
    status, output, errors = run(None, "acme", "--url", "nowhere")

    assert (status, output) == (2, "")
    assert errors == "error: 'nowhere' is no address: write https://HOST:PORT\n"


def test_rows_are_lines_of_tabs_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [("x", None), ("[red]", 2)])
    print_json({"ü": 1})

    assert capsys.readouterr().out == 'x\t\n[red]\t2\n{\n  "ü": 1\n}\n'
