import pytest

from bifrost.filters import refused
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields import entities
from bifrost.wire.schema import request_schema
from support.stage import messages
from support.stage.playbook import client_sends, to_client
from support.stage.stage import Stage

DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
NO_AUTHORIZER = ErrorCode.SECURITY_DISABLED
NO_TOKENS = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
DENIED_FIELDS = {"error_code": DENIED, "error_message": DENIED.message}


def test_what_is_refused_is_offered_so_and_served_nowhere_else() -> None:
    assert set(refused.REFUSED) == entities.REFUSED
    assert not entities.REFUSED & set(entities.SERVED)


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("topics", [None, ["orders", "users"]])
def test_no_leaders_are_elected(stage: Stage, version: int, topics: list[str] | None) -> None:
    named = [{"topic": topic, "partitions": [0, 1]} for topic in topics or ()]
    request = messages.ElectLeadersRequest(topic_partitions=named if topics else None)
    results = [
        {
            "topic": topic,
            "partition_result": [{"partition_id": partition, **DENIED_FIELDS} for partition in (0, 1)],
        }
        for topic in topics or ()
    ]

    book = stage.play() >> client_sends(request, version)

    error = ErrorCode.NONE if version == 0 else DENIED
    assert book << to_client(
        messages.ElectLeadersResponse(error_code=error, replica_election_results=results)
    )


def test_no_partition_is_moved(stage: Stage) -> None:
    topics = [{"name": "orders", "partitions": [{}]}]
    answers = [{"name": "orders", "partitions": [DENIED_FIELDS]}]

    book = stage.play() >> client_sends(messages.AlterPartitionReassignmentsRequest(topics=topics))

    assert book << to_client(messages.AlterPartitionReassignmentsResponse(responses=answers, **DENIED_FIELDS))


def test_no_partition_is_seen_moving(stage: Stage) -> None:
    book = stage.play() >> client_sends(messages.ListPartitionReassignmentsRequest(topics=None))

    assert book << to_client(messages.ListPartitionReassignmentsResponse(**DENIED_FIELDS))


def test_scram_credentials_are_the_operators(stage: Stage) -> None:
    alter = messages.AlterUserScramCredentialsRequest(
        deletions=[{"name": "a", "mechanism": 1}], upsertions=[{"name": "a"}, {"name": "b"}]
    )
    results = [{"user": user, **DENIED_FIELDS} for user in ("a", "b")]
    without_text = DENIED_FIELDS | {"error_message": None}
    assert (
        stage.play()
        >> client_sends(messages.DescribeUserScramCredentialsRequest(users=None))
        << to_client(messages.DescribeUserScramCredentialsResponse(**without_text))
        >> client_sends(messages.DescribeUserScramCredentialsRequest(users=[{"name": "a"}, {"name": "b"}]))
        << to_client(
            messages.DescribeUserScramCredentialsResponse(**without_text, results=[{**without_text}] * 2)
        )
        >> client_sends(alter)
        << to_client(messages.AlterUserScramCredentialsResponse(results=results))
    )


@pytest.mark.parametrize("version", range(1, 4))
def test_acls_are_answered_as_by_a_broker_without_an_authorizer(stage: Stage, version: int) -> None:
    error = {"error_code": NO_AUTHORIZER, "error_message": "No Authorizer is configured."}
    on_the_broker = "No Authorizer is configured on the broker"
    one = {"resource_type": 2, "resource_name": "orders", "principal": "User:x", "host": "*"}
    by_filter = {
        "resource_type_filter": 2,
        "resource_name_filter": None,
        "principal_filter": None,
        "host_filter": None,
    }
    assert (
        stage.play()
        >> client_sends(messages.DescribeAclsRequest(**by_filter), version)
        << to_client(messages.DescribeAclsResponse(**error | {"error_message": on_the_broker}))
        >> client_sends(messages.CreateAclsRequest(creations=[one, one]), version)
        << to_client(messages.CreateAclsResponse(results=[error, error]))
        >> client_sends(messages.DeleteAclsRequest(filters=[by_filter]), version)
        << to_client(messages.DeleteAclsResponse(filter_results=[error]))
    )


@pytest.mark.parametrize("api", ["Create", "Renew", "Expire", "Describe"])
def test_there_are_no_delegation_tokens(stage: Stage, api: str) -> None:
    name = f"{api}DelegationToken"
    versions = request_schema(messages.message_class(f"{name}Request").SCHEMA.api_key).versions
    book = stage.play()
    for version in versions:
        book >> client_sends(messages.build(f"{name}Request", {}), version)
        book << to_client(messages.build(f"{name}Response", {"error_code": NO_TOKENS}))

    assert book
