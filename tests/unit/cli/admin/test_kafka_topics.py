import json

import pytest

from support.physical_names import physical_name
from unit.cli.admin.conftest import Run

ONE = "give exactly one of --create, --list, --move and --delete"
RECURSIVE = "--recursive goes with --delete of a namespace, and with --list --topics"
SIZES = "--partitions, --replication-factor and --config go with --create --topic"


def test_namespaces_are_created_listed_and_deleted_as_kip_37_writes_it(run: Run) -> None:
    assert run("kafka-topics", "--create", "--namespace", "acme:org:apache") == (
        0,
        "created acme:org\ncreated acme:org:apache\n",
        "",
    )
    status, output, errors = run("kafka-topics", "--list", "--namespace", "acme")
    assert (status, errors) == (0, "")
    assert [line.split("\t")[0] for line in output.splitlines()] == ["acme:org", "acme:org:apache"]
    listed = json.loads(run("kafka-topics", "--list", "--json")[1])["namespaces"]
    assert [one["name"] for one in listed] == ["acme", "acme:org", "acme:org:apache", "globex"]

    status, output, errors = run("kafka-topics", "--delete", "--namespace", "acme:org")
    assert (status, output) == (1, "")
    assert "1 namespaces are nested below acme:org (acme:org:apache)" in errors
    assert run("kafka-topics", "--delete", "--namespace", "acme:org", "--recursive") == (
        0,
        "deleted namespace acme:org\ndeleted namespace acme:org:apache\n",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ONE),
        (
            ["--create", "--list", "--namespace", "acme:a"],
            ONE,
        ),
        (["--create"], "which namespace? Add --namespace, such as acme:analytics:eu"),
        (["--delete"], "which namespace? Add --namespace, such as acme:analytics:eu"),
        (["--create", "--recursive", "--namespace", "acme:a"], RECURSIVE),
        (["--delete", "--topic", "t", "--recursive", "--namespace", "acme"], RECURSIVE),
        (["--create", "--topics", "--namespace", "acme"], "--topics goes with --list"),
        (
            ["--list", "--topic", "t", "--namespace", "acme"],
            "--topic does not go with --list: --topics lists all of a namespace",
        ),
        (["--list", "--topics"], "which namespace? Add --namespace, such as acme:analytics:eu"),
        (["--move", "--topic", "t", "--namespace", "acme"], "--move goes with --topic and --to"),
        (["--move", "--to", "acme:eu", "--namespace", "acme"], "--move goes with --topic and --to"),
        (["--create", "--namespace", "acme:eu", "--partitions", "3"], SIZES),
        (["--delete", "--namespace", "acme", "--topic", "t", "--config", "a=b"], SIZES),
        (
            ["--create", "--namespace", "acme", "--topic", "t", "--config", "a"],
            "--config 'a' is no CONFIG=VALUE",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(run: Run, arguments: list[str], expected: str) -> None:
    assert run("kafka-topics", *arguments) == (2, "", f"error: {expected}\n")


def test_topics_are_created_listed_moved_and_deleted(run: Run) -> None:
    run("kafka-topics", "--create", "--namespace", "acme:org")
    create = ("kafka-topics", "--create", "--namespace", "acme", "--topic", "orders", "--partitions", "3")
    assert run(*create, "--replication-factor", "2", "--config", "retention.ms=5") == (
        0,
        "created topic acme/orders with 3 partitions and 2 replicas\n  retention.ms=5\n",
        "",
    )
    move = ("kafka-topics", "--move", "--namespace", "acme", "--topic", "orders", "--to", "acme:org")
    assert run(*move) == (0, "owner acme:org/orders\n", "")
    row = f"\t3\t2\towner\t{physical_name('acme', 'orders')}\n"
    listing = ("kafka-topics", "--list", "--topics", "--namespace", "acme")
    assert run(*listing, "--recursive") == (0, f"acme:org/orders{row}", "")
    assert run(*listing) == (0, "", "")
    delete = ("kafka-topics", "--delete", "--topic", "orders", "--namespace")
    status, output, errors = run(*delete, "acme")
    assert (status, output) == (1, "")
    assert "topic acme/orders does not exist" in errors
    assert run(*delete, "acme:org") == (0, "deleted topic acme:org/orders\n", "")
