"""DescribeUserScramCredentials: the users that a tenant has made, those of the client's namespace and below it.

Source: ScramImage.describe of Kafka 4.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import Answer, RequestStep
from bifrost.filters.users.user_mechanisms import TYPES, visible
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeUserScramCredentialsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DescribeUserScramCredentialsRequest

_MISSING = "Attempt to describe a user credential that does not exist: "
_TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "


class UserDescriptionFilter(RequestFilter):
    """Lists users with their mechanisms and iterations; nothing else of a credential is ever told."""

    def on_request(self, exchange: Exchange, request: DescribeUserScramCredentialsRequest) -> RequestStep:
        """Answer the request."""
        made, users = DescribeUserScramCredentialsResponse, exchange.scope.users
        assert users is not None, "the filter before this one has looked"
        known = {one.name: one for one in in_steps(visible(exchange.scope, users))}
        asked = Counter(one.name for one in in_steps(request.users or ())) or Counter(known.keys())
        results = []
        for name, times in in_steps(asked.items()):
            result = made.DescribeUserScramCredentialsResult(user=name, error_message=None)
            user = known.get(name)
            if times > 1:
                result.error_code, result.error_message = ErrorCode.DUPLICATE_RESOURCE, _TWICE + name
            elif user is None:
                result.error_code, result.error_message = ErrorCode.RESOURCE_NOT_FOUND, _MISSING + name
            else:
                result.credential_infos = [
                    made.CredentialInfo(mechanism=number, iterations=user.verifiers[mechanism].iterations)
                    for number, mechanism in TYPES.items()
                    if mechanism in user.verifiers
                ]
            results.append(result)
        return Answer(made(error_message=None, results=results))
