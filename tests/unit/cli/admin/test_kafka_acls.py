import json

import pytest

from unit.cli.admin.conftest import Run

NAMESPACE = ("kafka-acls", "--namespace", "acme")
BOB = ("--allow-principal", "User:bob")
ADD = (*NAMESPACE, "--add", *BOB)


def created(run: Run, *options: str) -> list[tuple[str, str, str]]:
    status, output, errors = run(*ADD, *options, "--json")
    assert (status, errors) == (0, "")
    return [(one["resource_type"], one["name"], one["operation"]) for one in json.loads(output)["created"]]


def test_acls_are_added_listed_and_removed_as_kafkas_tool_does(run: Run) -> None:
    assert created(run, "--operation", "Read", "--topic", "orders") == [("TOPIC", "orders", "READ")]
    assert created(run, "--topic", "o", "--resource-pattern-type", "prefixed") == [("TOPIC", "o", "ALL")]

    status, output, _ = run(*NAMESPACE, "--list", "--topic", "orders")
    assert (status, output) == (
        0,
        "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`:\n"
        " \t(principal=User:bob, host=*, operation=READ, permissionType=ALLOW)\n",
    )
    assert (
        run(*NAMESPACE, "--list", "--topic", "orders", "--resource-pattern-type", "match")[1].count(") ") == 0
    )
    matching = run(*NAMESPACE, "--list", "--topic", "orders", "--resource-pattern-type", "match")[1]
    assert matching.count("Current ACLs") == 2
    assert run(*NAMESPACE, "--list")[1].count("Current ACLs") == 2
    assert run(*NAMESPACE, "--list", "--principal", "User:ann")[1] == ""

    removed = run(*NAMESPACE, "--remove", *BOB, "--operation", "Read", "--topic", "orders")
    assert removed == (0, "deleted ALLOW User:bob at *: READ TOPIC orders\n", "")
    assert run(*NAMESPACE, "--remove", "--topic", "o", "--resource-pattern-type", "any", "--force")[0] == 0
    assert run(*NAMESPACE, "--list")[1] == ""


def test_a_denial_has_a_principal_and_hosts_of_its_own(run: Run) -> None:
    deny = ("--deny-principal", "User:eve", "--deny-host", "192.0.2.1", "--allow-host", "192.0.2.2")
    status, output, _ = run(*ADD, *deny, "--operation", "Read", "--topic", "orders")

    assert (status, output) == (
        0,
        "created ALLOW User:bob at 192.0.2.2: READ TOPIC orders\n"
        "created DENY User:eve at 192.0.2.1: READ TOPIC orders\n",
    )


def test_what_producers_and_consumers_need_is_added(run: Run) -> None:
    assert created(run, "--producer", "--idempotent", "--topic", "t", "--transactional-id", "x") == [
        ("TOPIC", "t", "WRITE"),
        ("TOPIC", "t", "DESCRIBE"),
        ("TOPIC", "t", "CREATE"),
        ("TRANSACTIONAL_ID", "x", "WRITE"),
        ("TRANSACTIONAL_ID", "x", "DESCRIBE"),
        ("CLUSTER", "kafka-cluster", "IDEMPOTENT_WRITE"),
    ]
    assert created(run, "--consumer", "--topic", "t", "--group", "g") == [
        ("TOPIC", "t", "READ"),
        ("GROUP", "g", "READ"),
    ]


def test_a_removal_of_all_about_a_resource_is_asked_back(run: Run) -> None:
    assert created(run, "--operation", "Read", "--topic", "orders")

    status, output, errors = run(*NAMESPACE, "--remove", "--topic", "orders")

    assert status == 1
    assert "deleted" not in output
    assert "Delete all ACLs about TOPIC orders?" in errors
    assert run(*NAMESPACE, "--list")[1].count("Current ACLs") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "give exactly one of --add, --list and --remove"),
        (["--add", "--list"], "give exactly one of --add, --list and --remove"),
        (["--add", *BOB], "about what?"),
        (["--add", "--topic", "t"], "for whom?"),
        (["--add", *BOB, "--topic", "t", "--resource-pattern-type", "match"], "is literal or prefixed"),
        (["--list", "--resource-pattern-type", "regex"], "is literal or prefixed"),
        (["--add", *BOB, "--producer", "--group", "g"], "--producer and --consumer need --topic"),
        (["--add", *BOB, "--consumer", "--topic", "t"], "--consumer needs --group"),
        (["--add", *BOB, "--producer", "--topic", "t", "--group", "g"], "need nothing of GROUP"),
    ],
)
def test_a_command_line_that_is_wrong_is_refused(run: Run, arguments: list[str], expected: str) -> None:
    status, output, errors = run(*NAMESPACE, *arguments)

    assert (status, output) == (2, "")
    assert expected in errors
