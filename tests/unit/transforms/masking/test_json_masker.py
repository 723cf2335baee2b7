import json
import random
from typing import Any

import pytest

from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.records.codec.errors import TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.masking.json_masker import (
    MAX_NAMES,
    MAX_PATHS,
    NOTHING,
    NUMBER,
    OTHER,
    TEXT,
    JsonMasker,
)
from bifrost.transforms.masking.masked_values import mask_values
from bifrost.wire.steps import set_pause
from support.records.record_columns import plenty

SEEN = b'"***"'


def columns_of(*values: bytes | None) -> Columns:
    return Columns.of([ColumnRecord(i, 0, b"k", value, ((b"h", b"v"),)) for i, value in enumerate(values)])


def masker(*paths: str) -> JsonMasker:
    found: list[tuple[list[bytes | None], bool]] = []
    for path in paths:
        names = [None if name == "*" else name.encode() for name in path.removesuffix("[*]").split(".")]
        found.append((names, path.endswith("[*]")))
    return JsonMasker(found, lambda _path, _kind, _content: SEEN)


def masked(value: bytes, *paths: str) -> bytes | None:
    """Return a value with its masks; None: it is no JSON."""
    columns, unreadable = mask_values(columns_of(value), masker(*paths), plenty())
    assert unreadable == ([0] if columns.values[0] is None else [])
    return columns.values[0]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("a", b'{"a":1}', b'{"a":"***"}'),
        ("a", b' { "b" : 1.50 , "a" : {"x":[1]} } ', b' { "b" : 1.50 , "a" : "***" } '),
        ("a.b", b'{"b":1,"a":{"b":2,"c":3}}', b'{"b":1,"a":{"b":"***","c":3}}'),
        ("a.b", b'{"a":[{"b":2},[{"b":3}],{"c":4}]}', b'{"a":[{"b":"***"},[{"b":"***"}],{"c":4}]}'),
        ("a", b'[{"a":1},{"b":2}]', b'[{"a":"***"},{"b":2}]'),
        ("a", b'{"a":[1,2]}', b'{"a":"***"}'),
        ("a[*]", b'{"a":[1,[2,3],{}]}', b'{"a":["***",["***","***"],"***"]}'),
        ("a[*]", b'{"a":1}', b'{"a":"***"}'),
        ("*.b", b'{"x":{"b":1},"y":{"b":2,"c":3}}', b'{"x":{"b":"***"},"y":{"b":"***","c":3}}'),
        ("a", b'{"a":1,"a":2}', b'{"a":"***","a":"***"}'),
        ("name", b'{"n\\u0061me":1,"\\u006Eame":2}', b'{"n\\u0061me":"***","\\u006Eame":"***"}'),
        ("é", '{"é":1,"\\u00e9":2,"e":3}'.encode(), '{"é":"***","\\u00e9":"***","e":3}'.encode()),
        ("a.b", b'{"a":"b","c":[]}', b'{"a":null,"c":[]}'),
        ("a.b", b'{"a":[1,true,null]}', b'{"a":[null,null,null]}'),
        ("a", b'"text"', b"null"),
        ("a", b"-1.5e+3", b"null"),
        ("a", b"null", b"null"),
        ("a", b"\0\0\0\0\7" + b'{"a":1}', b"\0\0\0\0\7" + b'{"a":"***"}'),
        ("a", b'{"b":"\\"a\\":1"}', b'{"b":"\\"a\\":1"}'),
    ],
)
def test_what_a_path_means_is_replaced_and_all_else_stays(path: str, value: bytes, expected: bytes) -> None:
    assert masked(value, path) == expected


@pytest.mark.parametrize(
    "value",
    [
        *(
            b"",
            b" ",
            b"{",
            b"}",
            b"[",
            b"[1",
            b"[1,",
            b"[1,]",
            b"[,1]",
            b'{"a"',
            b'{"a":',
            b'{"a":1',
            b'{"a":1,}',
        ),
        *(b"{a:1}", b"{'a':1}", b'{"a":01}', b'{"a":1.}', b'{"a":.5}', b'{"a":+1}', b'{"a":1e}', b'{"a":-}'),
        *(
            b'{"a":NaN}',
            b'{"a":Infinity}',
            b'{"a":tru}',
            b'{"a":nul',
            b'{"a":1}{"a":2}',
            b'{"a":1} x',
            b"{} //",
        ),
        *(
            b'{"a":"\n"}',
            b'{"a":"\\x"}',
            b'{"a":"\\u12g4"}',
            b'{"a":"\\u12',
            b'{"a":"',
            b'{"a":"\\',
            b"{1:2}",
        ),
        *(
            b'\xef\xbb\xbf{"a":1}',
            b'{"\xc1\xa1":1}',
            b'{"a":"\xff"}',
            '{"a":1}'.encode("utf-16"),
            b"\0\0\0\0\7",
        ),
        *(b'{"a" 1}', b'{"a":1 "b":2}', b"\x00", b"\0" * 9, b"[" * 101 + b"]" * 101),
    ],
)
def test_what_is_no_json_is_null(value: bytes) -> None:
    assert masked(value, "a") is None
    assert masked(value, "other") is None


def test_null_stays_and_other_columns_too() -> None:
    columns = columns_of(None, b'{"a":1}', b"no JSON", b"[]")

    found, unreadable = mask_values(columns, masker("a"), plenty())

    assert [record.value for record in found.records()] == [None, b'{"a":"***"}', None, b"[]"]
    assert unreadable == [2]
    assert found.keys is columns.keys
    assert found.header_values is columns.header_values


def test_values_without_such_fields_stay_the_same_object() -> None:
    columns = columns_of(None, b'{"b":{"a":1}}', b"[1e2]", b"{}")

    assert mask_values(columns, masker("a.c", "x"), plenty())[0].values[1] == b'{"b":{"a":1}}'
    columns = columns_of(None, b'{"b":{"a":1}}', b"[]", b"{}")
    assert mask_values(columns, masker("a.c", "x"), plenty()) == (columns, [])


def test_what_is_there_is_told_to_who_replaces_it() -> None:
    asked: list[tuple[int, int, bytes]] = []

    def replace(path: int, kind: int, content: bytes) -> bytes:
        asked.append((path, kind, content))
        return b"0"

    value = b'{"a":"x\\n","b":-1.0,"c":{"b":true},"d":null,"e":[ 1 ],"f":false}'
    paths: list[tuple[list[bytes | None], bool]] = [([name.encode()], False) for name in "abcdef"]
    mask_values(columns_of(value), JsonMasker(paths, replace), plenty())

    assert asked == [
        (0, TEXT, b'"x\\n"'),
        (1, NUMBER, b"-1.0"),
        (2, OTHER, b'{"b":true}'),
        (3, NOTHING, b"null"),
        (4, OTHER, b"[ 1 ]"),
        (5, OTHER, b"false"),
    ]


def test_of_two_paths_to_a_field_the_first_counts_and_the_outer_one_before_it() -> None:
    def replace(path: int, _kind: int, _content: bytes) -> bytes:
        return b"%d" % path

    paths: list[tuple[list[bytes | None], bool]] = [([b"a", b"b"], False), ([b"a"], False), ([None], False)]
    found, _ = mask_values(columns_of(b'{"a":{"b":1},"c":[]}'), JsonMasker(paths, replace), plenty())

    assert found.values[0] == b'{"a":1,"c":2}'


def test_bounds_of_paths() -> None:
    deep: list[bytes | None] = [b"a"] * MAX_NAMES
    JsonMasker([(deep, False)] * MAX_PATHS, lambda *_: b"")
    for wrong in ([], [(deep, False)] * (MAX_PATHS + 1), [([*deep, b"a"], False)], [([], False)]):
        with pytest.raises(ValueError, match="1 to"):
            JsonMasker(wrong, lambda *_: b"")  # type: ignore[arg-type]
    path = ".".join(["a"] * MAX_NAMES)
    value = b'{"a":' * MAX_NAMES + b"1" + b"}" * MAX_NAMES
    assert masked(value, *["b"] * (MAX_PATHS - 1), path) == value.replace(b"1", SEEN)


def test_values_that_grow_come_out_of_the_budget() -> None:
    columns = columns_of(*[b'{"a":1}'] * 1000)
    budget = MemoryBudget("batch", 20_000)
    wide = JsonMasker([([b"a"], False)], lambda *_: b"0" * 100)

    with pytest.raises(TooLarge):
        mask_values(columns, wide, budget)
    assert budget.used == 0
    found, _ = mask_values(columns, wide, MemoryBudget("batch", 400_000))
    assert list(found.values) == [b'{"a":%s}' % (b"0" * 100)] * 1000


def test_random_values_get_what_a_plain_reader_gives_them() -> None:
    chance = random.Random(18)
    paths = ("a", "b.c", "*.d", "c[*]", "d.a.b")
    for _ in range(2_000):
        value = random_value(chance, 5)
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, 1)))

        found = masked(text.encode("utf-8", "surrogatepass"), *paths)

        assert found is not None
        assert json.loads(found) == plainly_masked(value, [path.split(".") for path in paths])


@pytest.mark.parametrize("seed", range(4))
def test_damaged_values_are_read_as_python_reads_them_or_not_at_all(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(5_000):
        text = bytearray(json.dumps(random_value(chance, 3)).encode())
        for _ in range(chance.randrange(1, 3)):
            text[chance.randrange(len(text))] = chance.choice(b'{}[],:"\\0e.-+ tna\x00\x80\xc3u')

        found = masked(bytes(text), "nothing.here.at.all", "b")

        if found is not None:
            json.loads(text)
            json.loads(found)
        else:
            assert not is_strict_json(bytes(text)), bytes(text)


def is_strict_json(text: bytes) -> bool:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        json.loads(text.decode(), parse_constant=refuse)
    except ValueError:
        return False
    return True


def random_value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(8 if depth else 5)
    if kind >= 5:
        if chance.random() < 0.3:
            return [random_value(chance, depth - 1) for _ in range(chance.randrange(4))]
        names = chance.sample(["a", "b", "c", "d", "é", "a.b", "\n"], chance.randrange(5))
        return {name: random_value(chance, depth - 1) for name in names}
    return chance.choice([None, True, False, 0, -1.5e300, 10**30, "", 'a"\\\u2028é😀', "x" * 40])


def plainly_masked(value: Any, paths: list[list[str]], *, is_masked: bool = False) -> Any:
    """Mask a value as it is written down: the slow way, over objects."""
    if isinstance(value, list):
        return [plainly_masked(one, paths, is_masked=is_masked) for one in value]
    if is_masked:
        return "***"
    if isinstance(value, dict):
        return {name: plainly_member(name, inner, paths) for name, inner in value.items()}
    return None if paths else value


def plainly_member(name: str, value: Any, paths: list[list[str]]) -> Any:
    found = [path for path in paths if path[0] in (name, "*", f"{name}[*]")]
    ends = [path[0] for path in found if len(path) == 1]
    if ends:
        return plainly_masked(value, [], is_masked=True) if ends[0].endswith("[*]") else "***"
    return plainly_masked(value, [path[1:] for path in found])


def test_the_caller_may_say_what_stands_in_place_of_a_field() -> None:
    asked: list[tuple[int, list[bytes], bytes]] = []

    def replace(record: int, names: list[bytes], content: bytes, form: None) -> bytes | None:
        asked.append((record, names, content))
        return None if content == b"2" else b"[]"

    columns = columns_of(
        b'{"a": {"\\u0062": 1, "c": 0}, "x": {"b": 2}}',
        None,
        b'{"a": {"b": null}}',
        b'[{"a": ["t"]}]',
        b'{"d": [1, {}]}',
    )
    found, unreadable = mask_values(columns, masker("*.b", "d[*]"), plenty(), replace)

    assert unreadable == []
    assert asked == [
        (0, [b"a", b"b"], b"1"),
        (0, [b"x", b"b"], b"2"),
        (3, [b"a"], b'"t"'),
        (4, [b"d"], b"1"),
        (4, [b"d"], b"{}"),
    ]
    assert list(found.values) == [
        b'{"a": {"\\u0062": [], "c": 0}, "x": {"b": 2}}',
        None,
        b'{"a": {"b": null}}',
        b'[{"a": [[]]}]',
        b'{"d": [[], []]}',
    ]
    assert mask_values(columns, masker("*.b"), plenty(), lambda *_: None)[0] is columns


def test_what_the_caller_raises_comes_through() -> None:
    def replace(*_: object) -> bytes:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        mask_values(columns_of(b'{"a": 1}'), masker("a"), plenty(), replace)


@pytest.mark.parametrize(
    "long",
    [
        b'"' + b"x" * 2_000_000 + b'"',
        b" " * 2_000_000 + b"1",
        b"1" * 2_000_000,
        b'"' + b"\xc3\xa9" * 1_000_000 + b'"',
    ],
    ids=["text", "spaces", "digits", "not ASCII"],
)
def test_others_have_their_turn_within_what_is_long(long: bytes) -> None:
    columns, pauses = columns_of(b'{"b":' + long + b',"a":1}'), list[int]()
    set_pause(lambda: pauses.append(1))
    try:
        found, unreadable = mask_values(columns, masker("a"), plenty())
    finally:
        set_pause(None)

    assert unreadable == []
    assert found.values[0] == b'{"b":' + long + b',"a":"***"}'
    assert len(pauses) > len(long) // 300_000
