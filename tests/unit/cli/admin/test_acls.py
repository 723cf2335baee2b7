import json

import pytest

from bifrost.cli.admin.acls import enumerated
from unit.cli.admin.conftest import Run

BOB = ("--principal", "User:bob")


def test_acls_are_created_listed_and_deleted(run: Run) -> None:
    create = ("acls", "create", "acme", *BOB, "--operation", "Read", "--operation", "DescribeConfigs")
    assert run(*create, "--topic", "orders") == (
        0,
        "created ALLOW User:bob at *: READ TOPIC orders\n"
        "created ALLOW User:bob at *: DESCRIBE_CONFIGS TOPIC orders\n",
        "",
    )
    assert run(*create, "--topic", "orders", "--deny", "--host", "192.0.2.1", "--prefixed")[0] == 0
    assert run(*create, "--topic", "orders")[1] == "2 were there already\n"

    status, output, errors = run("acls", "list", "acme", "--topic", "orders-eu")
    assert (status, output.count("\n")) == (0, 2)
    assert "TOPIC\tPREFIXED\torders\tUser:bob\t192.0.2.1\tREAD\tDENY\tAdmin:alice\n" in output
    assert "acme has no section acls in the configuration" in errors

    status, output, _ = run("acls", "delete", "acme", *BOB, "--operation", "READ", "--dry-run")
    assert (status, output.count("would delete")) == (0, 2)
    assert run("acls", "delete", "acme", "--topic", "orders", "--prefixed")[1].count("deleted DENY") == 2
    listed = json.loads(run("acls", "list", "acme", "--json")[1])["acls"]
    assert [one["operation"] for one in listed] == ["READ", "DESCRIBE_CONFIGS"]


def test_a_cluster_a_group_and_a_transactional_id_are_resources(run: Run) -> None:
    create = ("acls", "create", "acme", *BOB, "--operation", "Describe")

    output = run(*create, "--cluster", "--group", "*", "--transactional-id", "tx")[1]

    assert output == (
        "created ALLOW User:bob at *: DESCRIBE GROUP *\n"
        "created ALLOW User:bob at *: DESCRIBE TRANSACTIONAL_ID tx\n"
        "created ALLOW User:bob at *: DESCRIBE CLUSTER kafka-cluster\n"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["create", "acme", *BOB, "--operation", "Read"], "about what?"),
        (["create", "acme", *BOB, "--topic", "t"], "which operation?"),
        (["list", "acme", "--topic", "t", "--group", "g"], "give one"),
        (["delete", "acme", "--topic", "t", "--group", "g"], "give one resource"),
    ],
)
def test_a_command_line_that_is_wrong_is_refused(run: Run, arguments: list[str], expected: str) -> None:
    status, output, errors = run("acls", *arguments)

    assert (status, output) == (2, "")
    assert expected in errors


def test_what_the_api_refuses_is_status_1(run: Run) -> None:
    status, _, errors = run("acls", "delete", "acme")

    assert status == 1
    assert "would delete all ACLs of the namespace" in errors


@pytest.mark.parametrize(
    "word", ["DescribeConfigs", "describe-configs", "DESCRIBE_CONFIGS", "describe_configs"]
)
def test_an_operation_is_written_in_any_way_of_kafkas_tools(word: str) -> None:
    assert enumerated(word) == "DESCRIBE_CONFIGS"


def test_a_namespace_below_is_a_resource(run: Run) -> None:
    created = run("acls", "create", "acme", *BOB, "--operation", "Read", "--below", "eu")

    assert created == (0, "created ALLOW User:bob at *: READ NAMESPACE eu\n", "")
    assert (
        run("acls", "delete", "acme", "--below", "eu")[1]
        == "deleted ALLOW User:bob at *: READ NAMESPACE eu\n"
    )
