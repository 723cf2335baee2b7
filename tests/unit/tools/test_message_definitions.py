import json
import zipfile
from typing import Any

import pytest

from message_definitions import (
    DefinitionError,
    build_table,
    project,
    read_definition,
    read_definitions,
    verify,
    versions_in,
    write_table,
    write_versions,
)


def field(name: str, versions: str, kind: str = "int32", **facts: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": versions, **facts}


def request(
    versions: str, *fields: dict[str, Any], name: str = "PingRequest", **facts: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "apiKey": 900,
        "type": "request",
        "listeners": ["broker"],
        "validVersions": versions,
        "flexibleVersions": "none",
        "fields": list(fields),
        **facts,
    }


def data(name: str) -> dict[str, Any]:
    return {"name": name, "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": []}


def release(*messages: dict[str, Any]) -> dict[str, dict[str, Any]]:
    embedded = (data("ConsumerProtocolSubscription"), data("ConsumerProtocolAssignment"))
    return {message["name"]: message for message in (*messages, *embedded)}


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    releases = {"1.0": release(old), "2.0": release(new)}
    table = build_table(releases)
    verify(table, releases)
    return table[0]


def test_comments_go_and_strings_with_slashes_stay():
    text = """
    // licence
    { "type": "data", "name": "Ping", // the name
      "fields": [{ "name": "Url", "type": "string", "versions": "0+", "default": "http://\\"x\\"//y" }] }
    """

    message = read_definition(text)

    assert message["name"] == "Ping"
    assert message["fields"][0]["default"] == 'http://"x"//y'


def test_a_common_struct_is_put_wherever_it_is_used():
    inner = [{"name": "Id", "type": "uuid", "versions": "0+"}]
    text = json.dumps(
        {
            "name": "Ping",
            "fields": [
                field("One", "0+", "Endpoint"),
                field("Outer", "0+", "[]Holder", fields=[field("Many", "0+", "[]Endpoint")]),
            ],
            "commonStructs": [{"name": "Endpoint", "versions": "0+", "fields": inner}],
        }
    )

    message = read_definition(text)

    assert "commonStructs" not in message
    assert message["fields"][0]["fields"] == inner
    assert message["fields"][1]["fields"][0]["fields"] == inner


def test_an_unstable_request_makes_its_response_unstable(tmp_path):
    response = {"name": "PingResponse", "apiKey": 900, "type": "response", "validVersions": "0-1"}
    with zipfile.ZipFile(tmp_path / "clients.jar", "w") as jar:
        jar.writestr(
            "common/message/PingRequest.json", json.dumps(request("0-1", latestVersionUnstable=True))
        )
        jar.writestr("common/message/PingResponse.json", json.dumps(response))
        jar.writestr("common/message/README.md", "not a definition")

    definitions = read_definitions(tmp_path / "clients.jar")

    assert set(definitions) == {"PingRequest", "PingResponse"}
    assert definitions["PingResponse"]["latestVersionUnstable"] is True


def test_a_jar_without_definitions_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "")

    with pytest.raises(DefinitionError, match=r"other\.jar holds no message definitions"):
        read_definitions(tmp_path / "other.jar")


@pytest.mark.parametrize(
    ("text", "versions"),
    [("3", {3}), ("0-2", {0, 1, 2}), ("5+", {5, 6, 7}), ("none", set()), (None, set())],
)
def test_ranges_are_read_as_kafka_writes_them(text, versions):
    assert versions_in(text, range(8)) == versions


@pytest.mark.parametrize(
    ("versions", "is_open", "text"),
    [({3}, False, "3"), ({0, 1, 2}, False, "0-2"), ({5, 6}, True, "5+"), (set(), True, "none")],
)
def test_ranges_are_written_as_kafka_writes_them(versions, is_open, text):
    assert write_versions(versions, is_open=is_open) == text


def test_versions_with_a_gap_are_no_range():
    with pytest.raises(DefinitionError, match="not one range"):
        write_versions({1, 3}, is_open=False)


def test_old_versions_come_from_the_old_release_and_new_ones_from_the_new():
    old = request("0-3", field("Time", "0-1"), field("Name", "0+", "string"))
    new = request("2-5", field("Name", "0-4", "string", ignorable=True), field("Id", "5+", "uuid"))

    merged = merge(old, new)

    assert merged["versions"] == "0-5"
    assert merged["fields"] == [
        field("Time", "0-1"),
        field("Name", "0-4", "string", ignorable=True),
        field("Id", "5+", "uuid"),
    ]


def test_a_field_of_old_versions_keeps_its_place_among_the_others():
    old = request("0-1", field("A", "0+"), field("Old", "0"), field("B", "0+"))
    new = request("1-2", field("A", "0+"), field("New", "2+"), field("B", "0+"))

    merged = merge(old, new)

    assert [entry["name"] for entry in merged["fields"]] == ["A", "Old", "New", "B"]


def test_structs_are_merged_field_by_field():
    old = request("0-1", field("Topics", "0+", "[]Topic", fields=[field("Count", "0"), field("Name", "0+")]))
    new = request("1-2", field("Topics", "0+", "[]Topic", fields=[field("Name", "0+"), field("Id", "2+")]))

    merged = merge(old, new)

    assert merged["fields"][0]["fields"] == [field("Count", "0"), field("Name", "0+"), field("Id", "2+")]


def test_nullability_differs_by_version():
    old = request("0-1", field("Name", "0+", "string", nullableVersions="1+"))
    new = request("1-2", field("Name", "0+", "string", nullableVersions="0+"))

    assert merge(old, new)["fields"][0]["nullable"] == "1+"


def test_a_field_that_a_new_release_adds_to_old_versions_starts_where_that_release_starts():
    old = request("0-1", field("A", "0+"))
    new = request("2-3", field("A", "0+"), field("B", "0+"))

    assert merge(old, new)["fields"][1] == field("B", "2+")


def test_a_withdrawn_unstable_version_is_no_part_of_the_protocol():
    old = request("0", field("A", "0+"), latestVersionUnstable=True)
    new = request("1-2", field("B", "0+"))

    merged = merge(old, new)

    assert merged["versions"] == "1-2"
    assert [entry["name"] for entry in merged["fields"]] == ["B"]


def test_an_unstable_version_may_change_before_it_is_stable():
    old = request("0-1", field("A", "0+"), field("B", "1+"), latestVersionUnstable=True)
    new = request("0-1", field("A", "0+"), field("C", "1+"))

    assert [entry["name"] for entry in merge(old, new)["fields"]] == ["A", "C"]


def test_an_unstable_last_version_is_marked():
    assert merge(request("0"), request("0-1", latestVersionUnstable=True))["unstable"] is True


def test_a_message_that_a_release_removed_stays_as_the_old_release_has_it():
    old = request("0-1", field("A", "0+"))
    new = {"name": "PingRequest", "apiKey": 900, "type": "request", "validVersions": "none", "fields": []}

    merged = merge(old, new)

    assert merged["versions"] == "0-1"
    assert merged["fields"] == [field("A", "0+")]


def test_a_renamed_message_is_known_by_its_new_name_only():
    old = request("0", field("Things", "0+", "[]Thing", fields=[field("A", "0+")]), name="ListThingsRequest")
    new = request("0-1", field("Items", "0+", "[]Item", fields=[field("B", "0+"), field("C", "1+")]))
    releases = {"1.0": release(old), "2.0": release(new)}

    table = build_table(releases)
    verify(table, releases)

    assert [entry["name"] for entry in table if "key" in entry] == ["PingRequest"]


def test_a_renamed_message_must_have_all_its_versions():
    old = request("0-1", field("A", "0+"), name="ListThingsRequest")
    releases = {"1.0": release(old), "2.0": release(request("1-2", field("A", "0+")))}

    with pytest.raises(DefinitionError, match=r"PingRequest: the union lacks the versions \[0\]"):
        verify(build_table(releases), releases)


def test_a_message_for_controllers_only_is_left_out():
    controller = request("0", name="VoteRequest", apiKey=901, listeners=["controller"])

    table = build_table({"1.0": release(request("0"), controller)})

    assert "VoteRequest" not in [entry["name"] for entry in table]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (field("A", "0+", "int32"), field("A", "0+", "int64")),
        (field("A", "0+", default="1"), field("A", "0+", default="2")),
        (field("A", "0", tag=0, taggedVersions="0+"), field("A", "0+", tag=1, taggedVersions="0+")),
    ],
)
def test_one_field_cannot_be_two_things(old, new):
    with pytest.raises(DefinitionError, match=r"PingRequest: A\.(type|default|tag) is"):
        merge(request("0", old), request("1", new))


def test_fields_cannot_change_places():
    old, new = (
        request("0", field("A", "0+"), field("B", "0+")),
        request("1", field("B", "0+"), field("A", "0+")),
    )

    with pytest.raises(DefinitionError, match="changed their order"):
        merge(old, new)


def test_a_stable_version_cannot_be_redefined():
    with pytest.raises(DefinitionError, match=r"PingRequest v0: 2\.0 redefines a stable version"):
        merge(request("0", field("A", "0+")), request("0-1", field("A", "0+"), field("B", "0+")))


def test_a_renamed_message_must_look_the_same_on_the_wire():
    old = request("0", field("A", "0+"), name="ListThingsRequest")
    releases = {"1.0": release(old), "2.0": release(request("0", field("A", "0+", "int64")))}

    with pytest.raises(DefinitionError, match="PingRequest v0"):
        verify(build_table(releases), releases)


@pytest.mark.parametrize(
    "change", [{"type": "int64"}, {"versions": "1+"}, {"default": "7"}, {"nullable": "0+"}]
)
def test_verify_sees_that_a_union_is_wrong(change):
    releases = {
        "1.0": release(request("0-1", field("A", "0+"))),
        "2.0": release(request("1-2", field("A", "0+"))),
    }
    table = build_table(releases)
    table[0]["fields"][0] |= change

    with pytest.raises(DefinitionError, match="PingRequest v0: the union differs from its source"):
        verify(table, releases)


def test_projection_shows_only_what_one_version_has():
    message = build_table(
        {"1.0": release(request("0-2", field("A", "0-1"), field("B", "1+", tag=3, taggedVersions="2+")))}
    )[0]

    assert project(message, 1) != project(message, 2)
    assert project(message, 2) == (False, [("B", "int32", False, 3, None, None, None, [])])


def test_the_table_is_one_json_object_with_a_line_per_message():
    table = build_table({"1.0": release(request("0", field("A", "0+")))})

    text = write_table(["1.0"], table)

    assert json.loads(text) == {"sources": ["1.0"], "messages": table}
    assert len(text.splitlines()) == len(table) + 2


def test_defaults_are_written_as_kafka_writes_them_and_prose_is_left_out():
    message = build_table(
        {
            "1.0": release(
                request(
                    "0",
                    field("A", "0+", default=-1, about="prose"),
                    field("B", "0+", "bool", default=True, zeroCopy=True),
                    field("C", "0+", tag="4", taggedVersions="0+"),
                )
            )
        }
    )[0]

    assert message["fields"] == [
        {"name": "A", "type": "int32", "versions": "0+", "default": "-1"},
        {"name": "B", "type": "bool", "versions": "0+", "default": "true"},
        {"name": "C", "type": "int32", "tag": 4, "versions": "0+", "tagged": "0+"},
    ]
