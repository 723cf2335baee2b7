import json
from pathlib import Path
from typing import Any

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


def test_a_whole_namespace_has_quotas(run: Run) -> None:
    assert run("quotas", "alter", "acme", "--whole", "--add", "producer_byte_rate=1024") == (
        0,
        "<all>\t<all>\tproducer_byte_rate\t1024\n",
        "",
    )
    assert run("quotas", "alter", "acme", "--whole", "--user", "bob", "--add", "a=1")[0] == 2


def written(folder: Path, *alterations: dict[str, Any]) -> str:
    file = folder / "quotas.json"
    file.write_text(json.dumps({"quotas_format": 1, "alterations": alterations}))
    return str(file)


WHOLE = {"namespace": "acme", "entity": {"namespace": None}, "values": {"producer_byte_rate": 2048}}
BOB = {
    "namespace": "globex",
    "entity": {"user": "bob"},
    "values": {"consumer_byte_rate": 1, "request_percentage": None},
}


def test_a_file_is_applied_once_and_says_what_has_changed(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, WHOLE, BOB)
    lines = (
        "acme as a whole: producer_byte_rate none -> 2048\n",
        "globex user bob: consumer_byte_rate none -> 1\n",
    )

    assert run("quotas", "apply", file, "--dry-run") == (0, "".join(f"would set {one}" for one in lines), "")
    assert run("quotas", "describe", "acme")[1] == ""
    assert run("quotas", "apply", file) == (0, "".join(f"set {one}" for one in lines), "")
    assert run("quotas", "describe", "acme")[1] == "<all>\t<all>\tproducer_byte_rate\t2048\n"
    assert run("quotas", "apply", file) == (0, "nothing to change\n", "")
    less = written(tmp_path, WHOLE | {"values": {"producer_byte_rate": 1024}})
    assert run("quotas", "apply", less)[1] == "set acme as a whole: producer_byte_rate 2048 -> 1024\n"


def test_a_file_with_a_quota_that_cannot_be_sets_nothing_in_its_namespace(run: Run, tmp_path: Path) -> None:
    bad = {"namespace": "acme", "entity": {"user": "a"}, "values": {"producer_byte_rate": -1}}

    for options in ((), ("--dry-run",)):
        status, _, errors = run("quotas", "apply", written(tmp_path, WHOLE, bad), *options)
        assert status == 1
        assert "must be greater than 0" in errors
    assert run("quotas", "describe", "acme")[1] == ""
    assert run("quotas", "apply", str(tmp_path / "none.json"))[0] == 2
