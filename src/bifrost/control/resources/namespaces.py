"""Namespaces (KIP-37): `/v1/namespaces`."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from bifrost.control.etag import etag, read_version
from bifrost.control.problem import FoundVersion, Problem
from bifrost.control.resources.context import (
    Context,
    IfMatch,
    Operator,
    Shared,
    Viewer,
    problems,
)
from bifrost.state.state_change import StateConflict
from bifrost.tenancy.acls.stored_acls import KIND as ACL
from bifrost.tenancy.namespaces.namespace_path import Path, read_path, shown
from bifrost.tenancy.quotas.quota_record import QUOTA

MAX_PATH_LENGTH = 200
"""Longer than any path of a tenant and its tiers."""

Name = Annotated[
    str,
    InPath(description="The tenant and its tiers, such as `acme:analytics:eu`.", max_length=MAX_PATH_LENGTH),
]


class Namespace(BaseModel):
    """A namespace."""

    name: str = Field(description="The tenant and its tiers, such as `acme:analytics:eu`.")
    is_configured: bool = Field(
        description="Whether the configuration names it, so that only a change of the configuration removes it."
    )
    version: int | None = Field(description="The version of its record; null: the state has none.")
    on_behalf_of: str | None = Field(description="Who has changed it last, if it is known.")
    at_ms: int | None = Field(description="When that was, in milliseconds since 1970.")


class NamespaceList(BaseModel):
    """Namespaces."""

    namespaces: list[Namespace]


class NamespaceCreation(BaseModel):
    """What is created."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="As in `Namespace`.", max_length=MAX_PATH_LENGTH)


class NamespaceCreated(BaseModel):
    """What was created."""

    created: list[str] = Field(description="The namespace, and the tiers above it that were missing.")


class NamespaceDeleted(BaseModel):
    """What was deleted, or would be."""

    is_dry_run: bool = Field(description="Whether it only would be.")
    namespaces: list[str]
    topics: list[str] = Field(description="Each with its namespace, such as `acme:eu/orders`.")
    quotas: int = Field(description="Entities whose quotas were set in them.")
    acls: int = Field(description="ACLs in the state that were about names in them.")
    remaining: dict[str, str] = Field(
        default_factory=dict,
        description="Topics that were created meanwhile and could not be deleted, with Kafka's error; `?`: the cluster "
        "did not say whether there are any.",
    )


router = APIRouter(prefix="/v1/namespaces", tags=["namespaces"])


@router.get("", responses=problems(HTTPStatus.NOT_FOUND), operation_id="listNamespaces")
async def list_namespaces(
    asker: Viewer,
    shared: Shared,
    under: Annotated[
        str | None, Query(description="Only those below this one.", max_length=MAX_PATH_LENGTH)
    ] = None,
) -> NamespaceList:
    """List namespaces in the order of their names; without `under` those of all tenants, with the tenants' own."""
    found = shared.namespaces.below(None if under is None else read_path(under))
    return NamespaceList(namespaces=[_described(shared, path) for path in found])


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
    operation_id="createNamespace",
)
async def create_namespace(
    asker: Operator, shared: Shared, wanted: NamespaceCreation, response: Response
) -> NamespaceCreated:
    """Create a namespace, with every tier that is missing."""
    created = await shared.namespaces.create(read_path(wanted.name), asker.principal)
    response.headers["Location"] = f"/v1/namespaces/{wanted.name}"
    return NamespaceCreated(created=[shown(path) for path in created])


@router.get("/{name}", responses=problems(HTTPStatus.NOT_FOUND), operation_id="getNamespace")
async def get_namespace(asker: Viewer, shared: Shared, name: Name, response: Response) -> Namespace:
    """Describe a namespace; the ETag is its version."""
    path = read_path(name)
    shared.namespaces.tree.check(path)
    found = _described(shared, path)
    if found.version is not None:
        response.headers["ETag"] = etag(found.version)
    return found


@router.delete(
    "/{name}",
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED),
    operation_id="deleteNamespace",
)
async def delete_namespace(
    asker: Operator,
    shared: Shared,
    name: Name,
    recursive: Annotated[bool, Query(description="Whether namespaces below it go as well.")] = False,
    dry_run: Annotated[bool, Query(description="Whether only to say what would be deleted.")] = False,
    if_match: IfMatch = None,
) -> NamespaceDeleted:
    """Delete a namespace, and before it its topics, as Kafka does. Namespaces below it need `recursive`."""
    path, expected = read_path(name), read_version(if_match)
    if dry_run:
        taken = shared.namespaces.plan_deletion(path, recursive=recursive)
        topics = sorted((await shared.namespaces.topics_in(taken)).values())
        counts = shared.namespaces.count_records(taken)
        return NamespaceDeleted(
            is_dry_run=True,
            namespaces=[shown(one) for one in taken],
            topics=topics,
            quotas=counts[QUOTA],
            acls=counts[ACL],
        )
    try:
        deleted = await shared.namespaces.delete(
            path, asker.principal, recursive=recursive, expected=expected
        )
    except StateConflict as error:
        if expected is None or error.expected != expected:
            raise
        raise _not_as_seen(error) from None
    return NamespaceDeleted(
        is_dry_run=False,
        namespaces=[shown(one) for one in deleted.namespaces],
        topics=list(deleted.topics),
        quotas=deleted.quotas,
        acls=deleted.acls,
        remaining=deleted.remaining,
    )


def _described(shared: Context, path: Path) -> Namespace:
    record = shared.namespaces.record(path)
    return Namespace(
        name=shown(path),
        is_configured=shared.namespaces.tree.is_configured(path),
        version=None if record is None else record.version,
        on_behalf_of=None if record is None else record.on_behalf_of,
        at_ms=None if record is None else record.at_ms,
    )


def _not_as_seen(error: StateConflict) -> Problem:
    found = FoundVersion(
        key=str(error.key), expected=error.expected, found=error.found, on_behalf_of=error.on_behalf_of
    )
    return Problem(
        HTTPStatus.PRECONDITION_FAILED,
        "not-as-seen",
        str(error),
        "read it again, and decide anew",
        conflict=found,
    )
