"""docs/journal.md describes the journal's records field by field, and its events by type, outcome and rule."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from bifrost.gateway.reload_outcome import Outcome
from bifrost.journal.record import RecordKind, schema
from bifrost.journal.record_buffer import DropReason
from bifrost.journal.topic_names import FOREIGN_ID, NOT_ALLOWED, RESERVED
from bifrost.session.metering import FOREIGN_FETCH_SESSION
from support.pages.doc_pages import page, table, tables
from support.pages.source_facts import journal_events, trees

PAGE = page("journal.md")


def structs(fields: list[dict[str, Any]]) -> Iterator[list[tuple[str, str]]]:
    """Yield each struct of the schema as the fields of its table: name, and type in the page's words."""
    yield [(one["name"], described(one)) for one in fields]
    for one in fields:
        inner = one["type"]
        while isinstance(inner, dict) and inner["type"] == "array":
            inner = inner["elementType"]
        if isinstance(inner, dict) and inner["type"] == "struct":
            yield from structs(inner["fields"])


def described(field: dict[str, Any]) -> str:
    """Return the type of a field in the page's words."""
    return named(field["type"]) + ("" if field["nullable"] else ", required")


def named(type_: Any) -> str:
    if isinstance(type_, str):
        return type_
    if type_["type"] == "map":
        return f"map to {named(type_['valueType'])}"
    if type_["type"] == "array":
        inner = named(type_["elementType"])
        return f"array of {inner}s" if inner == "struct" else f"array of {inner}"
    return "struct"


def test_every_field_has_a_row_with_its_type_and_no_row_is_of_no_field() -> None:
    documented = [
        [(row[0].strip("`"), row[1]) for row in one.rows]
        for one in tables(PAGE)
        if one.columns == ["field", "type", "meaning"]
    ]

    expected = list(structs(schema()["fields"]))
    assert len(expected) >= 6
    assert ("sequence", "long, required") in expected[0]
    assert sorted(documented) == sorted(expected)


def test_every_kind_of_record_has_a_section() -> None:
    sections = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)

    assert set(RecordKind) <= set(sections)


def words_of(field: str) -> set[str]:
    """Return the words that the meaning of an event's field lists."""
    (events,) = [one for one in schema()["fields"] if one["name"] == "event"]
    (found,) = [one for one in events["type"]["fields"] if one["name"] == field]
    comment = found["metadata"]["comment"]
    return set(re.findall(r"\b[a-z]+\b", comment.partition(": ")[2] or comment)) - {"or"}


def test_every_event_has_a_type_and_an_outcome_that_the_page_lists() -> None:
    written = journal_events()
    types = {type_ for type_, _ in written}
    outcomes = {outcome for _, outcome in written if outcome} | set(Outcome)

    assert {
        ("authentication", "failure"),
        ("worker", "died"),
        ("drain", "begun"),
        ("admin", "unknown"),
    } <= written
    assert words_of("type") == types
    assert words_of("outcome") == outcomes


def test_every_rule_of_a_denial_is_explained_and_no_other() -> None:
    written = {NOT_ALLOWED, RESERVED, FOREIGN_ID, FOREIGN_FETCH_SESSION} | set(_rules_in_code())
    documented = table(PAGE, "`rule` of a denial").names()

    assert {"not_served", "not_for_tenants"} <= written
    assert set(documented) == written


def _rules_in_code() -> Iterator[str]:
    """Yield the rules that stand in calls of `_deny` and of events of type denial."""
    for _, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            rules = [one.value for one in node.keywords if one.arg == "rule"]
            if ast.unparse(node.func) == "_deny":
                rules = node.args[4:5]
            elif not node.args or ast.unparse(node.args[0]) != "'denial'":
                continue
            yield from (str(one.value) for one in rules if isinstance(one, ast.Constant))


def test_every_reason_of_a_drop_is_listed() -> None:
    (drop,) = [one for one in tables(PAGE) if one.heading == "drop"]
    (reason,) = [row[2] for row in drop.rows if row[0] == "`reason`"]

    assert set(re.findall(r"[a-z]+_[a-z]+|refused", reason)) == set(DropReason)
