"""What the resources share: the backend, the models, and the admin of a request."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, Request

from bifrost.control.access import Asker
from bifrost.control.acls import Acls
from bifrost.control.backend import Backend
from bifrost.control.configs.configs import Configs
from bifrost.control.counts import Counts
from bifrost.control.gate import ASKER
from bifrost.control.groups.groups import Groups
from bifrost.control.namespaces import Namespaces
from bifrost.control.policies import Policies
from bifrost.control.problem import ProblemDocument
from bifrost.control.quotas import Quotas
from bifrost.control.shared_topics import SharedTopics
from bifrost.control.topics.owned_topics import OwnedTopics


@dataclass(frozen=True, slots=True)
class Context:
    """What the resources of one process share."""

    backend: Backend
    counts: Counts
    namespaces: Namespaces
    quotas: Quotas
    acls: Acls
    policies: Policies
    topics: SharedTopics
    configs: Configs
    owned_topics: OwnedTopics
    groups: Groups


def _asker(request: Request) -> Asker:
    found: Asker = request.scope["state"][ASKER]
    return found


def _operator(request: Request) -> Asker:
    asker = _asker(request)
    asker.check_operator()
    return asker


Operator = Annotated[Asker, Depends(_operator)]
"""The admin of a request that changes something."""

Viewer = Annotated[Asker, Depends(_asker)]
"""The admin of a request that changes nothing."""


def _context(request: Request) -> Context:
    found: Context = request.app.state.context
    return found


Shared = Annotated[Context, Depends(_context)]

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="The ETag of the version that the caller has seen; without it the newest is changed.",
    ),
]


def problems(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an operation beside those that every one has, for the OpenAPI document."""
    return {
        int(status): {"model": ProblemDocument, "description": status.phrase}
        for status in (*statuses, *OF_ALL)
    }


OF_ALL = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
"""Errors that every operation has."""
