from typing import Any

import pytest

from bifrost.control.clusters.group_state import GroupMember, GroupState
from support.control.table_backend import Api
from support.physical_names import physical_name

GROUPS, OFFSETS = "/v1/namespaces/acme/groups", "/v1/namespaces/acme/offsets"
REPORTS = physical_name("acme", "reports")
ORDERS, CLICKS = physical_name("acme", "orders"), physical_name("acme", "--eu.clicks")


@pytest.fixture
def acme(api: Api) -> Api:
    assert api.ask("POST", "/v1/namespaces", {"name": "acme:eu"}).status_code == 201
    foreign = physical_name("globex", "orders")
    api.backend.ends = {(ORDERS, 0): (2, 10), (ORDERS, 1): (0, 4), (CLICKS, 0): (0, 7), (foreign, 0): (0, 9)}
    api.backend.groups = {
        REPORTS: GroupState("Empty", (), {(ORDERS, 0): 6, (CLICKS, 0): 7, (foreign, 0): 5}),
        physical_name("acme", "--eu.sums"): GroupState("Stable", (GroupMember("m", "c", "/h"),), {}),
        physical_name("globex", "reports"): GroupState("Stable", (), {(foreign, 0): 1}),
    }
    return api


def row(topic: str, partition: int, offset: int, end: int) -> dict[str, Any]:
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "end_offset": end,
        "lag": max(end - offset, 0),
    }


def test_groups_are_listed_by_the_names_of_the_namespace(acme: Api) -> None:
    reports = {"group": "reports", "state": "Empty", "group_type": "classic"}
    sums = {"group": "eu:sums", "state": "Stable", "group_type": "classic"}

    assert acme.ask("GET", GROUPS, admin="bob").json() == {"groups": [sums, reports]}
    assert acme.ask("GET", "/v1/namespaces/acme:eu/groups").json() == {"groups": [sums | {"group": "sums"}]}
    assert acme.ask("GET", "/v1/namespaces/acme:us/groups").status_code == 404


def test_a_group_is_described_with_what_its_namespace_sees(acme: Api) -> None:
    offsets = [row("eu:clicks", 0, 7, 7), row("orders", 0, 6, 10)]
    expected = {"group": "reports", "state": "Empty", "members": [], "offsets": offsets}

    assert acme.ask("GET", f"{GROUPS}/reports", admin="bob").json() == expected
    assert acme.ask("GET", f"{GROUPS}/eu:sums").json()["members"] == [
        {"member_id": "m", "client_id": "c", "host": "/h"}
    ]
    answer = acme.ask("GET", f"{GROUPS}/missing")
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "group missing of namespace acme does not exist",
    )


def test_a_moved_topic_has_its_owners_name_in_a_group(acme: Api) -> None:
    acme.backend.topics["acme"] = [ORDERS]
    move = {"source": "acme/orders", "target": "acme:eu/o"}
    assert acme.ask("POST", "/v1/topics/move", move).status_code == 200

    found = acme.ask("GET", f"{GROUPS}/reports").json()["offsets"]

    assert [one["topic"] for one in found] == ["eu:clicks", "eu:o"]
    asked = {"group": "reports", "topics": {"orders": []}, "to": "latest"}
    assert acme.ask("POST", OFFSETS, asked).status_code == 409
    assert acme.ask("POST", OFFSETS, asked | {"topics": {"eu:o": [1]}}).json()["offsets"] == [
        row("eu:o", 1, 4, 4)
    ]


def test_a_group_whose_name_has_a_slash_is_deleted(acme: Api) -> None:
    acme.backend.groups[physical_name("acme", "a/b c")] = GroupState("Empty", (), {})

    assert acme.ask("DELETE", f"{GROUPS}/a%2Fb%20c", admin="bob").status_code == 403
    assert acme.ask("DELETE", f"{GROUPS}/a%2Fb%20c").json()["group"] == "a/b c"
    assert acme.ask("DELETE", f"{GROUPS}/a%2Fb%20c").status_code == 404
    acme.backend.group_error = "NON_EMPTY_GROUP"
    answer = acme.ask("DELETE", f"{GROUPS}/eu:sums")
    assert (answer.status_code, answer.json()["detail"]) == (409, "group eu:sums: NON_EMPTY_GROUP")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"to": "earliest"}, 2),
        ({"to": "latest"}, 10),
        ({"timestamp_ms": 3}, 3),
        ({"timestamp_ms": 99}, 10),
        ({"offset": 8}, 8),
        ({"offset": 0}, 2),
        ({"offset": 99}, 10),
        ({"shift_by": -3}, 3),
        ({"shift_by": -9}, 2),
        ({"shift_by": 9}, 10),
    ],
)
def test_a_group_is_set_back(acme: Api, target: dict[str, Any], expected: int) -> None:
    asked = {"group": "reports", "topics": {"orders": [0]}} | target

    planned = acme.ask("POST", f"{OFFSETS}?dry_run=true", asked).json()
    assert acme.backend.groups[REPORTS].offsets[ORDERS, 0] == 6
    done = acme.ask("POST", OFFSETS, asked).json()

    offsets = [row("orders", 0, expected, 10)]
    assert planned == {"group": "reports", "offsets": offsets, "is_dry_run": True}
    assert done == {"group": "reports", "offsets": offsets, "is_dry_run": False}
    assert acme.backend.groups[REPORTS].offsets[ORDERS, 0] == expected
    assert acme.backend.groups[REPORTS].offsets[CLICKS, 0] == 7


def test_all_that_a_group_has_committed_is_set_back_but_foreign_topics(acme: Api) -> None:
    done = acme.ask("POST", OFFSETS, {"group": "reports", "to": "earliest"}).json()

    assert done["offsets"] == [row("eu:clicks", 0, 0, 7), row("orders", 0, 2, 10)]
    assert acme.backend.groups[REPORTS].offsets[physical_name("globex", "orders"), 0] == 5


@pytest.mark.parametrize(
    ("asked", "status", "word"),
    [
        ({"group": "reports"}, 400, "exactly one of"),
        ({"group": "reports", "to": "latest", "offset": 1}, 400, "exactly one of"),
        ({"group": "", "to": "latest"}, 400, "group"),
        ({"group": "reports", "to": "latest", "topics": {}}, 400, "topics"),
        (
            {"group": "reports", "to": "latest", "topics": {"orders": [2]}},
            409,
            "topic orders has no partition 2",
        ),
        ({"group": "reports", "to": "latest", "topics": {"nothing": []}}, 409, "nothing has no partition 0"),
        ({"group": "reports", "shift_by": 1, "topics": {"orders": [1]}}, 409, "no committed offset"),
        ({"group": "eu:sums", "to": "latest", "topics": {"orders": []}}, 409, "is Stable: stop its members"),
    ],
)
def test_what_cannot_be_set_back_is_refused(acme: Api, asked: dict[str, Any], status: int, word: str) -> None:
    answer = acme.ask("POST", OFFSETS, asked)

    assert answer.status_code == status
    assert word in answer.text


def test_what_the_coordinator_refuses_is_told(acme: Api) -> None:
    acme.backend.group_error = "UNKNOWN_MEMBER_ID"

    answer = acme.ask("POST", OFFSETS, {"group": "reports", "to": "latest"})

    assert answer.status_code == 409
    assert "UNKNOWN_MEMBER_ID" in answer.json()["detail"]
