from pathlib import Path

import pytest

from bifrost.config.files.document import (
    MAX_ALIASES,
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_VALUES,
    Document,
    DocumentError,
    read_documents,
)
from unit.config.conftest import PROXY_YAML, problems_of


def read_document(text: str) -> Document:
    """The one document of a text."""
    [document] = read_documents(text)
    return document


def test_every_value_has_the_line_on_which_its_key_stands() -> None:
    document = read_document("a:\n  b:\n    - c\n    - { d: 1,\n        e: 2 }\n")

    assert document.data == {"a": {"b": ["c", {"d": 1, "e": 2}]}}
    assert document.lines == {
        (): 1,
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "b", 0): 3,
        ("a", "b", 1): 4,
        ("a", "b", 1, "d"): 4,
        ("a", "b", 1, "e"): 5,
    }
    assert document.line_of(("a", "b", 1, "absent", 7)) == 4


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a: 1\n\tb: 2\n", 2, "a tab: indent with spaces, YAML takes no tabs there"),
        ("a:\n\t- b\n", 2, "a tab: indent with spaces, YAML takes no tabs there"),
        ("a: [b,\n  c\nd: e\n", 1, "close the bracket or brace, or add the comma"),
        ("a:\n  b: { c: d\n", 2, "close the bracket or brace, or add the comma"),
        ('a:\n  b: "c\n', 2, "close the quotes"),
        ("a: b: c\n", 1, "check the indentation, and put a text that contains ': ' in quotes"),
        ("a: 1\n  b: 2\n", 2, "check the indentation, and put a text that contains ': ' in quotes"),
        ("x: 1\na: @b\n", 2, "put a text that begins with this character in quotes"),
        ("a: *b\n", 1, "an alias without its anchor: put text that begins with * in quotes"),
        ("- a\nb: c\n", 2, "check the indentation"),
        ("a: 1\nb: \x07\n", 2, "control character U+0007: remove it"),
        ("%YAML 3.0\n---\na: 1\n", 1, "not YAML"),
        ("a: !hunter!y b\n", 1, "a tag that is not supported: put text that begins with ! in quotes"),
    ],
)
def test_what_is_not_yaml_is_named_with_its_line_and_a_remedy(text: str, line: int, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(text)

    assert caught.value.line == line
    assert expected in caught.value.text


def test_a_duplicate_key_is_reported_where_it_is_repeated() -> None:
    document = read_document("a: 1\nb: 2\na: 3\n")

    assert document.data == {"a": 1, "b": 2}
    assert document.problems == [(None, 3, "a is given twice, first on line 1: remove one of them")]


def test_a_section_given_twice_does_not_hide_what_else_is_wrong(folder: Path) -> None:
    lines = problems_of(
        folder, PROXY_YAML.replace("bootstrap_port: 9092", "bootstrap_port: 9093") + "tenants: []\n"
    )

    assert [line.split(" ")[0] for line in lines] == ["proxy.yaml:8:", "proxy.yaml:23:"]
    assert lines[1] == "proxy.yaml:23: tenants is given twice, first on line 12: remove one of them"


def test_keys_are_texts() -> None:
    document = read_document("1: a\n? [b]\n: c\n")

    assert document.data == {}
    assert [(line, text) for _, line, text in document.problems] == [
        (1, "a key that is not a text: put it in quotes"),
        (2, "a key that is not a text: put it in quotes"),
    ]


def test_anchors_aliases_and_merge_keys_are_expanded_into_copies() -> None:
    document = read_document(
        "a: &topics [x, y]\nb: *topics\nc: &base\n  d: 1\n  e: 2\nf:\n  <<: *base\n  e: 3\ng:\n  <<: [*base, {h: 4}]\n"
    )

    data = document.data
    assert isinstance(data, dict)
    assert data["b"] == ["x", "y"]
    assert data["b"] is not data["a"]
    assert data["f"] == {"e": 3, "d": 1}
    assert data["g"] == {"d": 1, "e": 2, "h": 4}
    assert (document.line_of(("f", "e")), document.line_of(("f", "d")), document.line_of(("g", "h"))) == (
        8,
        4,
        10,
    )


def test_a_merge_takes_only_mappings() -> None:
    assert read_document("a:\n  <<: 5\n").problems == [(None, 2, "<< takes a mapping or a list of mappings")]


def test_tags_are_refused_without_running_anything() -> None:
    document = read_document("a: !!python/object/apply:os.system [id]\nb: !!binary aGk=\nc: !!set {d}\n")

    assert document.data == {"a": None, "b": None, "c": None}
    assert [line for _, line, _ in document.problems] == [1, 2, 3]
    assert {text for *_, text in document.problems} == {
        "a tag (!...) is not supported: put text that begins with ! in quotes"
    }


def test_numbers_that_python_refuses_are_reported() -> None:
    document = read_document(f"a: !!int b\nc: {'9' * 5000}\nd: !!bool maybe\n")

    assert [line for _, line, _ in document.problems] == [1, 2, 3]
    assert {text for *_, text in document.problems} == {"a number that cannot be read: put text in quotes"}


def test_dates_stay_texts() -> None:
    assert read_document("a: 2026-01-01\nb: 2026-02-31\n").data == {"a": "2026-01-01", "b": "2026-02-31"}


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (bomb(9), "more than 200000 values, with aliases expanded: use fewer"),
        (
            "a: &a [b]\nc: [" + "*a, " * (MAX_ALIASES + 1) + "]",
            f"more than {MAX_ALIASES} aliases: write them out",
        ),
        ("a: &a [*a]", "an anchor that contains itself"),
        ("a: &a { <<: *a }", "an anchor that contains itself"),
        ("a: &a { b: [{ c: *a }] }", "an anchor that contains itself"),
        ("[" * (MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} levels deep"),
        ("- " * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("{a: " * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
    ],
)
@pytest.mark.timeout(10)
def test_a_document_that_would_exhaust_memory_or_stack_is_refused(text: str, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(text)

    assert caught.value.text == expected


def test_aliases_that_deepen_each_other_stay_within_the_depth() -> None:
    levels = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60)]

    with pytest.raises(DocumentError, match="nested more than 32 levels deep"):
        read_document("\n".join(levels))


def test_an_empty_text_has_no_value() -> None:
    assert read_document("").data is None
    assert read_document("# only a comment\n").data is None


def test_several_documents_count_their_lines_from_the_start_of_the_file() -> None:
    first, empty, last = read_documents("a: 1\n---\n# nothing\n---\nb:\n  c: 2\n")

    assert (first.data, empty.data, last.data) == ({"a": 1}, None, {"b": {"c": 2}})
    assert (first.line_of(("a",)), last.line_of(("b", "c"))) == (1, 6)


def test_a_mistake_in_a_later_document_has_its_line() -> None:
    with pytest.raises(DocumentError) as caught:
        read_documents("a: 1\n---\nb: c: d\n")

    assert caught.value.line == 3


def test_the_bounds_are_those_of_the_whole_file() -> None:
    with pytest.raises(DocumentError, match=f"more than {MAX_DOCUMENTS} documents"):
        read_documents("---\n" * (MAX_DOCUMENTS + 1))
    many = f"[{'1, ' * (MAX_VALUES // 2)}]"
    assert len(read_documents(f"--- {many}\n")) == 1
    with pytest.raises(DocumentError, match=f"more than {MAX_VALUES} values") as caught:
        read_documents(f"--- {many}\n--- {many}\n")
    assert caught.value.line == 2


def test_the_values_and_lines_of_a_document_are_freed() -> None:
    document = read_document("proxy: { sets: [1, 2] }\nuse: &a [b]\ntenants: [{ name: x }, { like: *a }]\n")
    assert isinstance(document.data, dict)
    tenants = document.data["tenants"]
    [first, _] = tenants

    document.let_go()

    assert (tenants, document.lines) == ([], {})
    assert document.data == {"proxy": {"sets": []}, "use": [], "tenants": []}
    assert first == {"name": "x"}, "what another object has of it stays"
