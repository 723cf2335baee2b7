"""Policies of namespaces: `/v1/namespaces/{name}/policy`."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.control.etag import etag, read_version
from bifrost.control.resources.context import (
    Context,
    IfMatch,
    Operator,
    Shared,
    Viewer,
    problems,
)
from bifrost.control.resources.namespaces import Name
from bifrost.tenancy.namespaces.namespace_path import Path, read_path, shown
from bifrost.tenancy.policies.policy_record import policy_body

MAX_VIOLATIONS = 1_000
"""Violations that an answer lists: as many as an admin can look through."""


class Policy(BaseModel):
    """The policies of a namespace; both hold, and so do those of the namespaces above."""

    namespace: str
    policy: dict[str, Any] | None = Field(description="That of the state, which this API sets; null: none.")
    configured: dict[str, Any] | None = Field(description="That of the configuration; null: none.")
    version: int | None = Field(description="The version of the record; null: the state has none.")
    on_behalf_of: str | None = Field(description="Who has changed it last, if it is known.")


class PolicyViolation(BaseModel):
    """A topic that is there and does not keep to the policy."""

    topic: str = Field(
        description="The topic with its namespace, or the namespace for a sum of all its topics."
    )
    key: str = Field(description="The key of the policy, such as `topic_names`.")
    message: str


class PolicySet(Policy):
    """The policies after a change, or as they would be."""

    is_dry_run: bool = Field(description="Whether nothing was changed.")
    violations: list[PolicyViolation] = Field(
        description=f"Topics that are there and do not keep to it, {MAX_VIOLATIONS} at most. They stay as they are."
    )
    violation_count: int = Field(description="How many there are in all.")


Wanted = Annotated[
    dict[str, Any],
    Body(description="The policy, with the keys of `tenants[].namespace_policies`, without `namespace`."),
]


router = APIRouter(prefix="/v1/namespaces", tags=["policies"])


@router.get("/{name}/policy", responses=problems(HTTPStatus.NOT_FOUND), operation_id="getPolicy")
async def get_policy(asker: Viewer, shared: Shared, name: Name, response: Response) -> Policy:
    """Describe the policies of a namespace; the ETag is the version of the stored one."""
    found = _described(shared, read_path(name))
    if found.version is not None:
        response.headers["ETag"] = etag(found.version)
    return found


@router.put(
    "/{name}/policy",
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED),
    operation_id="setPolicy",
)
async def set_policy(
    asker: Operator,
    shared: Shared,
    name: Name,
    wanted: Wanted,
    dry_run: Annotated[bool, Query(description="Whether only to look for violations.")] = False,
    if_match: IfMatch = None,
) -> PolicySet:
    """Set the policy of a namespace in place of the stored one, and tell which topics do not keep to it."""
    path, expected, policy = read_path(name), read_version(if_match), _read(wanted)
    found = await shared.policies.check(path, policy)
    if not dry_run:
        await shared.policies.set(path, policy, asker.principal, expected=expected)
    described = _described(shared, path).model_dump()
    if dry_run:
        described["policy"] = policy_body(policy)
    return PolicySet(
        **described,
        is_dry_run=dry_run,
        violations=[
            PolicyViolation(topic=topic, key=one.key, message=one.message)
            for topic, one in found[:MAX_VIOLATIONS]
        ],
        violation_count=len(found),
    )


@router.delete(
    "/{name}/policy",
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED),
    operation_id="deletePolicy",
)
async def delete_policy(asker: Operator, shared: Shared, name: Name, if_match: IfMatch = None) -> Policy:
    """Delete the stored policy of a namespace; that of the configuration stays."""
    path = read_path(name)
    await shared.policies.set(path, None, asker.principal, expected=read_version(if_match))
    return _described(shared, path)


def _read(wanted: dict[str, Any]) -> NamespacePolicy:
    try:
        return NamespacePolicy.model_validate(wanted)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError(found) from None


def _described(shared: Context, path: Path) -> Policy:
    found = shared.policies.of(path)
    configured = None if found.configured is None else policy_body(found.configured)
    if configured is not None:
        configured.pop("namespace", None)
    return Policy(
        namespace=shown(path),
        policy=None if found.stored is None else policy_body(found.stored),
        configured=configured,
        version=None if found.record is None else found.record.version,
        on_behalf_of=None if found.record is None else found.record.on_behalf_of,
    )
