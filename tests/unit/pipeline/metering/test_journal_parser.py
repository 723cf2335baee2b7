"""The compiled parser: plain JSON becomes columns, and whatever is not plain is odd."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.pipeline.metering.journal_columns import Columns, parse_rows
from bifrost.pipeline.metering.journal_parser import (
    BOOLEAN,
    INTEGER,
    LIST,
    LONG,
    MAP,
    STRING,
    STRUCT,
    JournalParser,
)

FIELDS = (
    ("tenant", STRING, ()),
    ("number", LONG, ()),
    ("small", INTEGER, ()),
    ("flag", BOOLEAN, ()),
    ("inner", STRUCT, (("name", STRING, ()), ("times", LIST, (("element", LONG, ()),)))),
    ("parts", LIST, (("element", STRUCT, (("codec", STRING, ()), ("bytes", LONG, ()))),)),
    ("codes", MAP, (("key", STRING, ()), ("value", LONG, ()))),
)
CAPACITY = 100


def parse(*texts: bytes, keys: list[bytes | None] | None = None) -> tuple[list[bool], list[dict[str, Any]]]:
    """Return which rows are odd, and all rows."""
    parser = JournalParser(FIELDS, CAPACITY, 7)
    values = pa.array(texts, pa.binary())
    parse_rows(parser, values, pa.array(keys or [None] * len(texts), pa.binary()), 0, len(texts))
    odd, nodes = parser.page()
    columns = Columns(nodes)
    arrays = {name: columns.array(name) for name, _kind, _children in FIELDS}
    for array in arrays.values():
        array.validate(full=True)
    return [bool(one) for one in odd], pa.table(arrays).to_pylist()


def full(**more: Any) -> dict[str, Any]:
    return {name: None for name, _kind, _children in FIELDS} | more


def test_each_kind_of_value_is_read() -> None:
    whole = full(
        number=-(10**17),
        small=-5,
        flag=True,
        inner={"name": "a", "times": [1, 0, 3]},
        parts=[{"codec": "lz4", "bytes": 1}, {"codec": None, "bytes": 2}],
        codes=[("29", 1), ("3", 2)],
    )
    text = json.dumps(whole | {"codes": {"29": 1, "3": 2}})

    odd, rows = parse(text.encode(), b"{}", b' {\n"flag" :false ,"parts": [ ] } ')

    assert odd == [False] * 3
    assert rows == [whole, full(), full(flag=False, parts=[])]


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(deadline=None)
@given(st.lists(st.tuples(names, st.integers(-(10**18) + 1, 10**18 - 1), st.booleans()), max_size=CAPACITY))
def test_what_json_writes_is_read_back(rows: list[tuple[str, int, bool]]) -> None:
    texts = [
        json.dumps({"number": number, "codes": {name: 1}, "inner": {"name": name}}, ensure_ascii=is_ascii)
        for name, number, is_ascii in rows
    ]

    odd, found = parse(*(one.encode() for one in texts))

    # An escaped surrogate is the one thing that is left to Spark.
    plain = [not is_ascii or all(ord(one) < 0x10000 for one in name) for name, _number, is_ascii in rows]
    assert [not one for one in odd] == plain
    wanted = [
        full(number=number, codes=[(name, 1)], inner={"name": name, "times": None})
        for name, number, _is_ascii in rows
    ]
    assert [one for one, is_plain in zip(found, plain, strict=True) if is_plain] == [
        one for one, is_plain in zip(wanted, plain, strict=True) if is_plain
    ]


WHOLE = json.dumps(
    {
        "tenant": "acme",
        "number": -12,
        "small": 3,
        "flag": True,
        "inner": {"name": "\u00e9\n", "times": [1, 2]},
        "parts": [{"codec": "lz4", "bytes": 1}, {}],
        "codes": {"29": 1, "3": 2},
        "more": {"a": [None, False, "b"]},
    }
).encode()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 3), st.binary(max_size=3)), max_size=4)
)
def test_a_damaged_text_is_odd_or_means_the_same_to_another_parser(
    damages: list[tuple[int, int, bytes]],
) -> None:
    text = WHOLE
    for at, removed, added in damages:
        text = text[:at] + added + text[at + removed :]

    odd, rows = parse(WHOLE, text, WHOLE, keys=[b"acme"] * 3)

    assert not odd[0]
    assert not odd[2]
    assert rows[0] == rows[2]
    if not odd[1]:
        wanted = json.loads(text)
        assert rows[1]["tenant"] == wanted["tenant"]
        for name in ("number", "small", "flag"):
            assert rows[1][name] == wanted.get(name)
        assert dict(rows[1]["codes"] or []) == (wanted.get("codes") or {})
        assert [{k: v for k, v in one.items() if v is not None} for one in rows[1]["parts"] or []] == [
            {k: v for k, v in one.items() if k in ("codec", "bytes") and v is not None}
            for one in wanted.get("parts") or []
        ]


def test_fields_in_another_order_and_unknown_ones_are_no_harm() -> None:
    text = b'{"more":[1,{"a":"b"},null,true],"number":2,"tenantx":false,"small":1,"no":{}}'

    assert parse(text) == ([False], [full(number=2, small=1)])


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[1]",
        b'{"number":1',
        b'{"number":1}}',
        b'{"number":1}\0',
        b'{"number":1} {"number":1}',
        b'{"number":1.0}',
        b'{"number":1e3}',
        b'{"number":01}',
        b'{"number":-}',
        b'{"number":"1"}',
        b'{"number":1234567890123456789}',
        b'{"number":true}',
        b'{"number":1,"number":1}',
        b'{"number":1,"number":null}',
        b'{"number":1,}',
        b'{"number" 1}',
        b"{number:1}",
        b'{"small":2147483648}',
        b'{"flag":1}',
        b'{"flag":truth}',
        b'{"inner":[]}',
        b'{"inner":{"name":5}}',
        b'{"inner":{"times":[1,null]}}',
        b'{"inner":{"times":[1 2]}}',
        b'{"parts":[null]}',
        b'{"parts":{}}',
        b'{"codes":{"a":null}}',
        b'{"codes":{"a":1,"a":2}}',
        b'{"codes":{null:1}}',
        b'{"inner":{"name":"\xff"}}',
        b'{"inner":{"name":"\xc0\xaf"}}',
        b'{"inner":{"name":"\xed\xa0\x80"}}',
        b'{"inner":{"name":"\xf4\x90\x80\x80"}}',
        b'{"inner":{"name":"\xe2\x82"}}',
        b'{"inner":{"name":"a\nb"}}',
        b'{"inner":{"name":"\\ud83d\\ude00"}}',
        b'{"inner":{"name":"\\x41"}}',
        b'{"inner":{"name":"\\u12',
        b'{"inner":{"name":"open}',
        b'{"_corrupt":"a column of Spark\'s"}',
        b'{"more":' + b"[" * 40 + b"]" * 40 + b"}",
        b'{"more":"\\n"}',
        b'{"more":nothing}',
    ],
)
def test_what_is_not_plain_is_odd_and_spoils_no_other_row(text: bytes) -> None:
    good = b'{"number":1,"inner":{"name":"x","times":[1,2]},"parts":[{"bytes":3}],"codes":{"k":4}}'

    odd, rows = parse(good, text, good)

    assert odd == [False, True, False]
    assert rows[0] == rows[2]
    assert rows[0]["codes"] == [("k", 4)]


def test_escapes_are_read() -> None:
    odd, rows = parse(rb'{"inner":{"name":"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac"}}')

    assert odd == [False]
    assert rows[0]["inner"]["name"] == '"\\/\b\f\n\r\tAé€'


def test_a_row_under_another_key_than_its_tenant_is_odd() -> None:
    text = b'{"tenant":"acme"}'

    odd, _rows = parse(text, text, text, b"{}", b"{}", keys=[b"acme", b"acm", None, None, b"acme"])

    assert odd == [False, True, True, False, True]


def test_a_page_has_nothing_of_the_page_before() -> None:
    parser = JournalParser(FIELDS, CAPACITY, 7)
    texts = [f'{{"number":{n},"inner":{{"name":"n{n}","times":[{n}]}}}}'.encode() for n in range(CAPACITY)]
    values, keys = pa.array(texts, pa.binary()), pa.nulls(CAPACITY, pa.binary())
    parse_rows(parser, values, keys, 0, CAPACITY)
    parser.page()

    parse_rows(parser, values, keys, 40, 41)
    parse_rows(parser, values.slice(40), keys.slice(39), 1, 2)
    odd, nodes = parser.page()

    columns = Columns(nodes)
    assert odd == b"\0\0"
    assert columns.array("number").to_pylist() == [40, 41]
    assert columns.array("inner").to_pylist() == [{"name": f"n{n}", "times": [n]} for n in (40, 41)]
    assert columns.words("inner.name") == ["n40", "n41"]


def test_more_rows_than_there_is_room_for_are_refused() -> None:
    parser = JournalParser(FIELDS, 1, 7)
    values, keys = pa.array([b"{}", b"{}"], pa.binary()), pa.nulls(2, pa.binary())

    with pytest.raises(ValueError, match="2 rows, room for 1"):
        parse_rows(parser, values, keys, 0, 2)

    assert parser.room == 1


def test_many_different_strings_get_a_code_each() -> None:
    count = 5000
    parser = JournalParser(FIELDS, count * 2, 7)
    texts = [b'{"inner":{"name":"name-%d"}}' % (n % count) for n in range(count * 2)]
    parse_rows(parser, pa.array(texts, pa.binary()), pa.nulls(count * 2, pa.binary()), 0, count * 2)

    columns = Columns(parser.page()[1])

    assert columns.words("inner.name") == [f"name-{n}" for n in range(count)]
    assert columns.numbers("inner.name").tolist() == list(range(count)) * 2
