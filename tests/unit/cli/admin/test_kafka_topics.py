import json

import pytest

from unit.cli.admin.conftest import Run


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
        ([], "give exactly one of --create, --list and --delete"),
        (
            ["--create", "--list", "--namespace", "acme:a"],
            "give exactly one of --create, --list and --delete",
        ),
        (["--create"], "which namespace? Add --namespace, such as acme:analytics:eu"),
        (["--delete"], "which namespace? Add --namespace, such as acme:analytics:eu"),
        (["--create", "--recursive", "--namespace", "acme:a"], "--recursive goes with --delete"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run: Run, arguments: list[str], expected: str) -> None:
    assert run("kafka-topics", *arguments) == (2, "", f"error: {expected}\n")
