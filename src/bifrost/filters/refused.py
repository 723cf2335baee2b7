"""APIs that are offered and always refused: cluster operations, and those that only an operator uses.

"Not authorized" tells a client more than "no such API", and it is a broker's answer to a client without rights on the
cluster. Such a request never reaches a broker, so none of its fields needs a classification.
"""

from collections.abc import Callable
from typing import Any

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import Answer, RequestStep
from bifrost.wire import messages
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.steps import in_steps

_Answer = Callable[[Any], Message]

_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_NO_TOKENS = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
_NO_AUTHORIZER = ErrorCode.SECURITY_DISABLED
_DENIED_FIELDS: dict[str, Any] = {"error_code": _DENIED, "error_message": _DENIED.message}
_NO_AUTHORIZER_FIELDS: dict[str, Any] = {
    "error_code": _NO_AUTHORIZER,
    "error_message": "No Authorizer is configured.",
}


def _denied(response: type[Message]) -> _Answer:
    return lambda _request: response(**_DENIED_FIELDS)


def _without_tokens(response: type[Message]) -> _Answer:
    return lambda _request: response(error_code=_NO_TOKENS)


def _elect_leaders(request: Any) -> Message:
    response = messages.ElectLeadersResponse
    results = [
        response.ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                response.PartitionResult(partition_id=partition, **_DENIED_FIELDS)
                for partition in in_steps(topic.partitions)
            ],
        )
        for topic in in_steps(request.topic_partitions or ())
    ]
    return response(error_code=_DENIED, replica_election_results=results)


def _alter_reassignments(request: Any) -> Message:
    # AlterPartitionReassignmentsRequest.getErrorResponse gives the error for each partition as well, and
    # KafkaAdminClient.alterPartitionReassignments counts them.
    response = messages.AlterPartitionReassignmentsResponse
    responses = [
        response.ReassignableTopicResponse(
            name=topic.name,
            partitions=[
                response.ReassignablePartitionResponse(
                    partition_index=partition.partition_index, **_DENIED_FIELDS
                )
                for partition in in_steps(topic.partitions)
            ],
        )
        for topic in in_steps(request.topics)
    ]
    return response(responses=responses, **_DENIED_FIELDS)


def _alter_scram_credentials(request: Any) -> Message:
    response = messages.AlterUserScramCredentialsResponse
    users = {one.name: None for one in in_steps([*request.deletions, *request.upsertions])}
    results = [
        response.AlterUserScramCredentialsResult(user=user, **_DENIED_FIELDS) for user in in_steps(users)
    ]
    return response(results=results)


def _describe_scram_credentials(request: Any) -> Message:
    # As DescribeUserScramCredentialsRequest.getErrorResponse has it: a result for every user asked for, without a name.
    response = messages.DescribeUserScramCredentialsResponse
    result = response.DescribeUserScramCredentialsResult
    results = [result(error_code=_DENIED, error_message=None) for _ in in_steps(request.users or ())]
    return response(error_code=_DENIED, error_message=None, results=results)


def _create_acls(request: Any) -> Message:
    result = messages.CreateAclsResponse.AclCreationResult
    return messages.CreateAclsResponse(
        results=[result(**_NO_AUTHORIZER_FIELDS) for _ in in_steps(request.creations)]
    )


def _delete_acls(request: Any) -> Message:
    result = messages.DeleteAclsResponse.DeleteAclsFilterResult
    return messages.DeleteAclsResponse(
        filter_results=[result(**_NO_AUTHORIZER_FIELDS) for _ in in_steps(request.filters)]
    )


def _describe_acls(_request: Any) -> Message:
    # The broker itself answers this API, its controller the others, and the texts differ.
    no_authorizer = "No Authorizer is configured on the broker"
    return messages.DescribeAclsResponse(error_code=_NO_AUTHORIZER, error_message=no_authorizer)


REFUSED: dict[ApiKey, _Answer] = {
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _denied(messages.ListPartitionReassignmentsResponse),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _describe_scram_credentials,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_scram_credentials,
    # As a broker answers that has no authorizer, and none of its listeners takes delegation tokens.
    ApiKey.DESCRIBE_ACLS: _describe_acls,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.CREATE_DELEGATION_TOKEN: _without_tokens(messages.CreateDelegationTokenResponse),
    ApiKey.RENEW_DELEGATION_TOKEN: _without_tokens(messages.RenewDelegationTokenResponse),
    ApiKey.EXPIRE_DELEGATION_TOKEN: _without_tokens(messages.ExpireDelegationTokenResponse),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _without_tokens(messages.DescribeDelegationTokenResponse),
}
"""Every API that is refused, and its refusing answer. The same keys as `entities.REFUSED`."""


_WITHOUT_ERROR_CODE = frozenset({(ApiKey.ELECT_LEADERS, 0)})
"""Versions whose response has no error code of its own: there each partition carries it."""


class RefusedFilter(RequestFilter):
    """Refuses every request of one API."""

    def __init__(self, answer: _Answer) -> None:
        """Refuse with the response that `answer` makes."""
        self._answer = answer

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Answer the request, so that the broker does not get it."""
        answer = self._answer(request)
        if (exchange.api_key, exchange.api_version) in _WITHOUT_ERROR_CODE:
            setattr(answer, "error_code", ErrorCode.NONE)  # noqa: B010
        return Answer(answer)
