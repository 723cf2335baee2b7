import pytest

from bifrost.state.state_export import UnreadableExport, differences, export_lines, read_export, to_write
from bifrost.state.state_record import StateRecord
from bifrost.state.state_table import StateTable
from support.state_log import change, in_log, key, put, table


def filled() -> StateTable:
    one = table()
    change(one, put("b", 0, {"text": "ü\n"}), put("a", 0, {"n": 1}), put("gone", 0, {}))
    change(one, put("gone", 1, None), put("a", 1, {"n": 2}))
    return one


def records_of(one: StateTable) -> list[StateRecord]:
    return [entry.record for entry in one.entries()]


def test_an_export_is_read_as_it_was_written() -> None:
    one = filled()
    lines = list(export_lines(records_of(one)))

    assert lines[0].startswith(b'{"bifrost_state": 1, "schema": 1, "records": 3, "sha256": "')
    assert lines[1].startswith(b'{"key":"alias:a","value":{"schema":1,"version":2,')
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert read_export(lines) == records_of(one)


def test_a_restored_table_is_equal() -> None:
    one, restored = filled(), table()

    restored.apply(in_log(to_write(read_export(export_lines(records_of(one))))))

    assert records_of(restored) == records_of(one)
    assert restored.next_version(key("gone")) == 3


def test_an_empty_state_can_be_exported() -> None:
    assert read_export(export_lines([])) == []


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], "line 1 is not the header"),
        ([b"{}\n"], "line 1 is not the header"),
        (
            [b'{"bifrost_state": 2, "schema": 1}\n'],
            "bifrost_state is 2, and this version of bifrost reads up to 1",
        ),
        ([b'{"bifrost_state": 1, "schema": 9}\n'], "schema is 9"),
    ],
)
def test_a_file_that_is_no_export_is_refused(lines: list[bytes], text: str) -> None:
    with pytest.raises(UnreadableExport, match=text):
        read_export(lines)


def test_a_cut_or_changed_file_is_refused() -> None:
    lines = list(export_lines(records_of(filled())))

    with pytest.raises(
        UnreadableExport, match="the header says 3 records, and there are 2: the file is not complete"
    ):
        read_export(lines[:-1])
    with pytest.raises(UnreadableExport, match="the checksum in the header is not that of the records"):
        read_export([*lines[:-1], lines[-1].replace(b"1", b"2", 1)])


@pytest.mark.parametrize("line", [b"x\n", b'{"key":"alias:a"}\n', b'{"key":1,"value":{}}\n', b"[]\n"])
def test_a_line_that_is_no_record_is_named(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    header = next(iter(export_lines([]))).replace(b'"records": 0', b'"records": 1')
    monkeypatch.setattr("bifrost.state.state_export._digest", lambda _: _sha(header))

    with pytest.raises(UnreadableExport, match="line 2 is no record of the state"):
        read_export([header, line])


def _sha(header: bytes) -> str:
    return header.decode().split('"')[-2]


def test_differences_name_the_keys() -> None:
    one, other = filled(), filled()
    change(other, put("a", 2, {"n": 3}), put("new", 0, {}))
    one.apply(in_log([(0, b"alias:b", None)]))

    found = differences(records_of(one), records_of(other))

    assert found == [
        (key("a"), "version 2 in the export, 3 in the state"),
        (key("b"), "not in the export"),
        (key("gone"), "version 2 in the export, 2 in the state"),
        (key("new"), "not in the export"),
    ]
    assert differences(records_of(other), records_of(one))[-1] == (key("new"), "only in the export")
