import json

import pytest

from unit.cli.admin.conftest import Run


def test_quotas_are_set_and_described(run: Run) -> None:
    alter = ("quotas", "alter", "acme")

    assert run(*alter, "--user", "bob", "--add", "producer_byte_rate=1048576")[0] == 0
    assert run(*alter, "--user-default", "--client-id", "etl", "--add", "request_percentage=12.5")[0] == 0
    assert run("quotas", "describe", "acme") == (
        0,
        "<default>\tetl\trequest_percentage\t12.5\nbob\t\tproducer_byte_rate\t1048576\n",
        "",
    )
    status, output, _ = run(*alter, "--user", "bob", "--remove", "producer_byte_rate", "--json")
    assert status == 0
    assert [one["entity"] for one in json.loads(output)["quotas"]] == [{"user": None, "client-id": "etl"}]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--add", "producer_byte_rate=1"], "whose quota?"),
        (["--user", "a", "--user-default", "--add", "producer_byte_rate=1"], "give one"),
        (["--client-id", "a"], "nothing to change"),
        (["--user", "a", "--add", "producer_byte_rate"], "is no KEY=VALUE with a number"),
    ],
)
def test_a_command_line_that_says_too_little_is_refused(
    run: Run, arguments: list[str], expected: str
) -> None:
    status, output, errors = run("quotas", "alter", "acme", *arguments)

    assert (status, output) == (2, "")
    assert expected in errors


def test_what_the_api_refuses_is_status_1(run: Run) -> None:
    status, _, errors = run("quotas", "alter", "acme", "--user", "a", "--add", "no_key=1")

    assert status == 1
    assert "Invalid configuration key no_key" in errors
