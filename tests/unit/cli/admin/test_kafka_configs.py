import json

import pytest

from unit.cli.admin.conftest import Run

NAMESPACE = ("kafka-configs", "--namespace", "acme")
ALTER, DESCRIBE = (*NAMESPACE, "--alter"), (*NAMESPACE, "--describe")
BOB = ("--entity-type", "users", "--entity-name", "bob")


def test_quotas_are_altered_and_described_as_kafkas_tool_does(run: Run) -> None:
    config = "producer_byte_rate=1024,consumer_byte_rate=2048"
    assert run(*ALTER, *BOB, "--add-config", config) == (
        0,
        "Completed updating config for user-principal 'bob'.\n",
        "",
    )
    assert run(*DESCRIBE, *BOB) == (
        0,
        "Quota configs for user-principal 'bob' are consumer_byte_rate=2048.0, producer_byte_rate=1024.0\n",
        "",
    )
    assert run(*ALTER, *BOB, "--delete-config", "producer_byte_rate,consumer_byte_rate")[0] == 0
    assert run(*DESCRIBE) == (0, "", "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--entity-type", "users", "--entity-default"], {"user": None}),
        (["--entity-type", "clients", "--entity-name", "etl"], {"client-id": "etl"}),
        (
            [
                "--entity-type",
                "users",
                "--entity-default",
                "--entity-type",
                "clients",
                "--entity-name",
                "etl",
            ],
            {"user": None, "client-id": "etl"},
        ),
        (
            [
                "--entity-type",
                "users",
                "--entity-name",
                "bob",
                "--entity-type",
                "clients",
                "--entity-default",
            ],
            {"user": "bob", "client-id": None},
        ),
        (
            [
                "--entity-type",
                "clients",
                "--entity-type",
                "users",
                "--entity-name",
                "e",
                "--entity-name",
                "b",
            ],
            {"user": "b", "client-id": "e"},
        ),
        (["--user", "bob", "--client-defaults"], {"user": "bob", "client-id": None}),
        (["--user-defaults", "--client", "etl"], {"user": None, "client-id": "etl"}),
    ],
)
def test_names_belong_to_the_types_in_their_order(
    run: Run, options: list[str], expected: dict[str, str | None]
) -> None:
    status, output, errors = run(*ALTER, *options, "--add-config", "request_percentage=50", "--json")

    assert (status, errors) == (0, "")
    [one] = json.loads(output)["quotas"]
    assert one["entity"] == expected


def test_what_is_described_has_just_the_types_that_are_asked_for(run: Run) -> None:
    for options in (
        ["--user", "bob"],
        ["--user", "ann"],
        ["--user", "bob", "--client", "etl"],
        ["--client-defaults"],
    ):
        assert run(*ALTER, *options, "--add-config", "request_percentage=50")[0] == 0

    def described(*options: str) -> list[str]:
        status, output, _ = run(*DESCRIBE, *options)
        assert status == 0
        return [line.removeprefix("Quota configs for ").partition(" are ")[0] for line in output.splitlines()]

    assert described("--entity-type", "users") == ["user-principal 'ann'", "user-principal 'bob'"]
    assert described("--entity-type", "clients") == ["the default client-id"]
    assert described("--user", "bob") == ["user-principal 'bob'"]
    assert described("--entity-type", "users", "--entity-type", "clients") == [
        "user-principal 'bob', client-id 'etl'"
    ]
    assert len(described()) == 4


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "give exactly one of --describe and --alter"),
        (["--alter", "--describe"], "give exactly one of --describe and --alter"),
        (["--alter", "--add-config", "a=1"], "whose quota?"),
        (["--alter", "--entity-type", "users", "--add-config", "a=1"], "whose quota?"),
        (["--alter", "--user", "bob"], "nothing to change"),
        (["--alter", "--user", "bob", "--add-config", "a"], "is no KEY=VALUE with a number"),
        (
            ["--describe", "--entity-type", "tables"],
            "a namespace has topics, and quotas of users and clients",
        ),
        (["--describe", "--entity-type", "brokers"], "do not belong to a namespace"),
        (["--describe", "--entity-name", "bob"], "needs its --entity-type"),
        (
            ["--describe", "--user", "a", "--entity-type", "users", "--entity-name", "b"],
            "the user is named twice",
        ),
        (["--describe", "--entity-type", "users", "--entity-type", "users"], "is there twice"),
        (["--describe", "--add-config", "a=1"], "go with --alter"),
    ],
)
def test_a_command_line_that_is_wrong_is_refused(run: Run, arguments: list[str], expected: str) -> None:
    status, output, errors = run(*NAMESPACE, *arguments)

    assert (status, output) == (2, "")
    assert expected in errors
