import json

import pytest

from unit.cli.admin.conftest import Run

NAMESPACE = ("kafka-configs", "--namespace", "acme")
ORDERS = ("--entity-type", "topics", "--entity-name", "orders")
ALTER, DESCRIBE = (*NAMESPACE, "--alter"), (*NAMESPACE, "--describe")


@pytest.fixture(autouse=True)
def orders(run: Run) -> None:
    for name in ("clicks", "orders"):
        assert run("topics", "create", f"acme/{name}")[0] == 0


def test_configs_of_a_topic_are_altered_and_described_as_kafkas_tool_does(run: Run) -> None:
    added = ("--add-config", "cleanup.policy=[compact,delete],retention.ms=9", "--add-config", "a=b=c")
    assert run(*ALTER, *ORDERS, *added) == (0, "Completed updating config for topic orders.\n", "")
    removed = ("--add-config", "retention.ms=[8]", "--delete-config", "a,segment.bytes")
    assert run(*ALTER, "--topic", "orders", *removed)[0] == 0

    expected = "Dynamic configs for topic orders are:\n  cleanup.policy=compact,delete\n  retention.ms=8\n"
    assert run(*DESCRIBE, *ORDERS) == (0, expected, "")
    everything = f"Dynamic configs for topic clicks are:\n{expected}"
    assert run(*DESCRIBE, "--entity-type", "topics") == (0, everything, "")


def test_the_answers_of_the_api_are_printed_as_json(run: Run) -> None:
    status, output, _ = run(*ALTER, *ORDERS, "--add-config", "retention.ms=9", "--json")
    assert (status, json.loads(output)["configs"]) == (0, {"retention.ms": "9"})

    status, output, _ = run(*DESCRIBE, *ORDERS, "--json")
    assert [(one["topic"], one["configs"]) for one in json.loads(output)["topics"]] == [
        ("acme/orders", {"retention.ms": "9"})
    ]


def test_a_topic_that_does_not_exist_is_no_topic_of_the_namespace(run: Run) -> None:
    missing = ("--topic", "missing")

    for command in ((*DESCRIBE, *missing), (*ALTER, *missing, "--add-config", "retention.ms=1")):
        status, output, errors = run(*command)

        assert (status, output) == (1, "")
        assert "acme/missing does not exist" in errors


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--alter", "--topic", "orders"], "nothing to change"),
        (["--alter", "--topic", "orders", "--add-config", "retention.ms"], "is no KEY=VALUE"),
        (["--alter", "--topic", "orders", "--add-config", "=1"], "is no KEY=VALUE"),
        (["--alter", "--entity-type", "topics", "--add-config", "a=1"], "which topic?"),
        (["--describe", *ORDERS, "--delete-config", "a"], "go with --alter"),
        (["--describe", *ORDERS, "--topic", "clicks"], "name one topic"),
        (["--describe", *ORDERS, "--entity-name", "clicks"], "name one topic"),
        (["--describe", *ORDERS, "--user", "bob"], "topics have no quotas"),
        (["--describe", *ORDERS, "--entity-type", "users"], "topics have no quotas"),
        (
            ["--describe", "--entity-type", "topics", "--entity-default"],
            "bifrost namespaces configs sets what they inherit",
        ),
    ],
)
def test_a_command_line_that_is_wrong_is_refused(run: Run, arguments: list[str], expected: str) -> None:
    status, output, errors = run(*NAMESPACE, *arguments)

    assert (status, output) == (2, "")
    assert expected in errors
