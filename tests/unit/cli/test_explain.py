from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app

FILTERS = """\
    filters:
      - name: RecordHeaders
        label: edge
        config: { add: [{ key: region, value: eu }] }
        rules: [{ topics: ["orders*"], direction: produce }]
      - name: ProducePolicy
        config: { require_key: true }
      - { name: RecordHeaders, config: { remove: [x] }, rules: [{ direction: fetch }] }
      - { name: RecordHeaders, label: last, config: { remove: [y] }, rules: [{ direction: fetch }] }
"""


def explain(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["explain", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def filtered(config_file: Path) -> Path:
    config_file.write_text(config_file.read_text() + FILTERS)
    return config_file


def options(
    config: Path, topic: str = "orders", principal: str = "User:x", tenant: str = "acme"
) -> list[str]:
    return ["--config", str(config), "--tenant", tenant, "--principal", principal, "--topic", topic]


def test_filters_are_told_in_the_order_in_which_records_pass_them(filtered: Path) -> None:
    assert explain("produce", *options(filtered)) == (
        0,
        "produce of orders by User:x, tenant acme: 2 of 4 filters\n"
        "  1. edge (RecordHeaders): rules[0] matches: topic orders*, User:*\n"
        "  2. ProducePolicy: it has no rules: it is for all records of the tenant\n"
        "  -  RecordHeaders: does not apply: rules[0] is for fetch\n"
        "  -  last (RecordHeaders): does not apply: rules[0] is for fetch\n",
        "",
    )
    assert explain("fetch", *options(filtered, "other"))[1] == (
        "fetch of other by User:x, tenant acme: 2 of 4 filters\n"
        "  1. last (RecordHeaders): rules[0] matches: topic *, User:*\n"
        "  2. RecordHeaders: rules[0] matches: topic *, User:*\n"
        "  -  edge (RecordHeaders): does not apply: rules[0] is for produce\n"
        "  -  ProducePolicy: does not apply: ProducePolicy does nothing on fetch\n"
    )


def test_a_tenant_without_filters_has_none(config_file: Path) -> None:
    assert explain("fetch", *options(config_file)) == (
        0,
        "fetch of orders by User:x, tenant acme: 0 of 0 filters\n",
        "",
    )


@pytest.mark.parametrize(
    ("wrong", "text"),
    [({"tenant": "nobody"}, "has no tenant nobody"), ({"principal": "x"}, "error: x is no principal")],
)
def test_what_is_not_there_is_an_error(filtered: Path, wrong: dict[str, str], text: str) -> None:
    status, output, errors = explain("produce", *options(filtered, **wrong))

    assert (status, output) == (2, "")
    assert text in errors


def test_there_are_two_ways(filtered: Path) -> None:
    assert explain("delete", *options(filtered))[0] == 2
