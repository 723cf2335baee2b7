"""Quotas of users and client IDs (KIP-546): `/v1/quotas`."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from bifrost.control.etag import etag, read_digest
from bifrost.control.quotas import Alteration, shown_parts
from bifrost.control.resources.context import Context, IfMatch, Operator, Shared, Viewer, problems
from bifrost.control.resources.namespaces import MAX_PATH_LENGTH
from bifrost.tenancy.namespaces.namespace_path import read_path

MAX_ALTERATIONS = 1_000
"""Most entities of one request: as many as a namespace may have."""

Entity = dict[str, str | None]


class EntityQuotas(BaseModel):
    """What is set for one entity."""

    entity: Entity = Field(
        description="`user`, `client-id` or both, each with a name; null: the default of all that have no quota. "
        "Or `namespace` with null: all clients of the namespace together."
    )
    values: dict[str, float] = Field(description="By Kafka's key, such as `producer_byte_rate`.")
    version: int = Field(description="The version of the record.")
    on_behalf_of: str | None = Field(description="Who has changed it last, if it is known.")


class QuotaList(BaseModel):
    """What is set in a namespace."""

    namespace: str
    quotas: list[EntityQuotas]


class QuotasAltered(QuotaList):
    """What was changed in a namespace, or would be, and what is set there."""

    is_dry_run: bool = Field(description="Whether it only would be; then `quotas` are those before.")
    changed: list[Entity] = Field(description="The entities whose quotas are others now.")


class QuotaAlteration(BaseModel):
    """What is set for one entity."""

    model_config = ConfigDict(extra="forbid")

    entity: Entity = Field(description="As in `EntityQuotas`.", max_length=2)
    values: dict[str, float | None] = Field(
        description="By Kafka's key; null: it is removed. Keys that are not here stay.", max_length=10
    )


class QuotaAlterations(BaseModel):
    """What is set in a namespace, all of it or nothing."""

    model_config = ConfigDict(extra="forbid")

    namespace: str = Field(max_length=MAX_PATH_LENGTH)
    alterations: list[QuotaAlteration] = Field(min_length=1, max_length=MAX_ALTERATIONS)


router = APIRouter(prefix="/v1/quotas", tags=["quotas"])


@router.get("", responses=problems(HTTPStatus.NOT_FOUND), operation_id="describeQuotas")
async def describe_quotas(
    asker: Viewer,
    shared: Shared,
    namespace: Annotated[str, Query(description="The tenant and its tiers.", max_length=MAX_PATH_LENGTH)],
    response: Response,
) -> QuotaList:
    """Describe what is set in a namespace by its users and by admins; the ETag is that of all of it.

    What the configuration gives is not told.
    """
    response.headers["ETag"] = _etag(shared, namespace)
    return QuotaList(namespace=namespace, quotas=_described(shared, namespace))


@router.post(
    "",
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED),
    operation_id="alterQuotas",
)
async def alter_quotas(
    asker: Operator,
    shared: Shared,
    wanted: QuotaAlterations,
    response: Response,
    dry_run: Annotated[bool, Query(description="Whether only to say what would change.")] = False,
    if_match: IfMatch = None,
) -> QuotasAltered:
    """Set and remove quotas in a namespace, all of them or none, with the checks of AlterClientQuotas."""
    path = read_path(wanted.namespace)
    shared.namespaces.tree.check(path)
    alterations = [Alteration(one.entity, one.values) for one in wanted.alterations]
    changed = await shared.quotas.alter(
        path, alterations, asker.principal, read_digest(if_match), is_dry_run=dry_run
    )
    response.headers["ETag"] = _etag(shared, wanted.namespace)
    return QuotasAltered(
        namespace=wanted.namespace,
        quotas=_described(shared, wanted.namespace),
        is_dry_run=dry_run,
        changed=[dict(shown_parts(one)) for one in changed],
    )


def _etag(shared: Context, namespace: str) -> str:
    path = read_path(namespace)
    shared.namespaces.tree.check(path)
    return etag(shared.quotas.digest(path))


def _described(shared: Context, namespace: str) -> list[EntityQuotas]:
    return [
        EntityQuotas(
            entity=dict(shown_parts(one.entity)),
            values={key.value: value for key, value in one.values.items()},
            version=one.record.version,
            on_behalf_of=one.record.on_behalf_of,
        )
        for one in shared.quotas.of(read_path(namespace))
    ]
