"""ACLs (KIP-140, KIP-290): `/v1/acls`."""

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bifrost.config.fields.acls import AclHost, AclOperation, AclPattern, AclPermission, AclResource
from bifrost.config.tiers import SEPARATOR, misfit
from bifrost.control.acls import NamespaceAcl
from bifrost.control.etag import etag, read_digest
from bifrost.control.problem import Problem
from bifrost.control.resources.context import Context, IfMatch, Operator, Shared, Viewer, problems
from bifrost.control.resources.namespaces import MAX_PATH_LENGTH
from bifrost.tenancy.acls.acl_binding import (
    MAX_NAME_BYTES,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    namespace_name,
)
from bifrost.tenancy.acls.acl_change import MAX_CHANGED
from bifrost.tenancy.acls.stored_acls import body_of
from bifrost.tenancy.namespaces.namespace_path import Path, read_path


class Acl(BaseModel):
    """An ACL, with Kafka's names of all types."""

    model_config = ConfigDict(extra="forbid")

    resource_type: str = Field(
        description="`TOPIC`, `GROUP`, `TRANSACTIONAL_ID`, `CLUSTER`, the tenant's own, or `NAMESPACE`, one below."
    )
    pattern_type: str = Field(description="`LITERAL` or `PREFIXED`.")
    name: str = Field(
        description="The name of the resource as clients of the namespace know it, `*` for all of the namespace; "
        "`kafka-cluster` for the cluster."
    )
    principal: str = Field(description="Whom it is about, such as `User:alice`; `User:*`: everyone.")
    host: str = Field(description="The IP address of the client; `*`: all.")
    operation: str = Field(description="Such as `READ`; `ALL`: every one.")
    permission: str = Field(description="`ALLOW` or `DENY`.")


class AclFound(Acl):
    """An ACL of a namespace."""

    is_configured: bool = Field(
        description="Whether the configuration has it, so that only a change of the configuration removes it."
    )
    on_behalf_of: str | None = Field(description="Who has created it in the state, if it is known.")
    at_ms: int | None = Field(description="When that was, in milliseconds since 1970.")


class AclList(BaseModel):
    """ACLs of a namespace."""

    namespace: str
    is_enforced: bool = Field(
        description="Whether the tenant has the section `acls` in the configuration, so that its ACLs decide."
    )
    acls: list[AclFound]


class AclCreation(BaseModel):
    """An ACL that is to be there."""

    model_config = ConfigDict(extra="forbid")

    resource_type: AclResource
    pattern_type: AclPattern = AclPattern.LITERAL
    name: str = Field(min_length=1, max_length=MAX_NAME_BYTES)
    principal: str = Field(min_length=1, max_length=MAX_NAME_BYTES)
    host: AclHost = "*"
    operation: AclOperation
    permission: AclPermission = AclPermission.ALLOW

    @model_validator(mode="after")
    def _check_namespace(self) -> "AclCreation":
        if self.resource_type == AclResource.NAMESPACE:
            wrong = misfit(self.name.split(SEPARATOR))
            if wrong is None and self.pattern_type != AclPattern.LITERAL:
                wrong = "the pattern of a NAMESPACE is LITERAL: it is about all below it as well"
            if wrong is not None:
                raise ValueError(wrong)
        return self


class AclCreations(BaseModel):
    """ACLs that are to be there in a namespace, all of them or none."""

    model_config = ConfigDict(extra="forbid")

    namespace: str = Field(max_length=MAX_PATH_LENGTH)
    acls: list[AclCreation] = Field(min_length=1, max_length=MAX_CHANGED)


class AclsCreated(BaseModel):
    """What was created."""

    created: list[Acl] = Field(description="Those that were not there.")


class RemainingAcl(Acl):
    """An ACL that stays."""

    reason: str


class AclsDeleted(BaseModel):
    """What was deleted, or would be."""

    is_dry_run: bool = Field(description="Whether it only would be.")
    deleted: list[Acl]
    remaining: list[RemainingAcl] = Field(description="Those that the configuration has.")


class AclQuery(BaseModel):
    """Which ACLs; what is left out means any."""

    model_config = ConfigDict(extra="forbid")

    namespace: str = Field(description="The tenant and its tiers.", max_length=MAX_PATH_LENGTH)
    resource_type: AclResource | None = None
    pattern_type: str | None = Field(
        default=None,
        pattern="^(LITERAL|PREFIXED|MATCH)$",
        description="With `MATCH` all ACLs are meant that are about `name`, also by a prefix or `*`.",
    )
    name: str | None = Field(default=None, max_length=MAX_NAME_BYTES)
    principal: str | None = Field(default=None, max_length=MAX_NAME_BYTES)
    host: str | None = Field(default=None, max_length=MAX_NAME_BYTES)
    operation: AclOperation | None = None
    permission: AclPermission | None = None

    def to_filter(self) -> AclBindingFilter:
        """Return Kafka's filter."""
        if self.resource_type == AclResource.NAMESPACE:
            return self._of_namespace()
        return AclBindingFilter(
            ResourceType[self.resource_type or "ANY"],
            PatternType[self.pattern_type or "ANY"],
            self.name,
            self.principal,
            self.host,
            Operation[self.operation or "ANY"],
            Permission[self.permission or "ANY"],
        )

    def _of_namespace(self) -> AclBindingFilter:
        if self.name is None:
            raise Problem(
                HTTPStatus.BAD_REQUEST,
                "invalid-request",
                "resource_type NAMESPACE needs a name",
                "name the namespace below this one, such as eu",
            )
        given = self.model_copy(update={"resource_type": AclResource.TOPIC, "pattern_type": "LITERAL"})
        return replace(given.to_filter(), name=namespace_name(self.name.split(SEPARATOR)))


class AclDeletion(AclQuery):
    """Which ACLs are deleted."""

    dry_run: bool = Field(default=False, description="Whether only to say what would be deleted.")


router = APIRouter(prefix="/v1/acls", tags=["acls"])


@router.get("", responses=problems(HTTPStatus.NOT_FOUND), operation_id="describeAcls")
async def describe_acls(
    asker: Viewer, shared: Shared, query: Annotated[AclQuery, Query()], response: Response
) -> AclList:
    """Describe the ACLs of a namespace; the ETag is that of all that the state has of them."""
    path = _path(shared, query.namespace)
    response.headers["ETag"] = etag(shared.acls.digest(path))
    found = shared.acls.find(path, query.to_filter())
    return AclList(
        namespace=query.namespace,
        is_enforced=shared.acls.is_enforced(path),
        acls=[_described(one) for one in found],
    )


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED),
    operation_id="createAcls",
)
async def create_acls(
    asker: Operator, shared: Shared, wanted: AclCreations, response: Response, if_match: IfMatch = None
) -> AclsCreated:
    """Create ACLs in a namespace, all of them or none, with the checks of CreateAcls. One that is there stays."""
    path, expected = _path(shared, wanted.namespace), read_digest(if_match)
    bindings = [_binding(one) for one in wanted.acls]
    created = await shared.acls.create(path, bindings, asker.principal, expected)
    response.headers["ETag"] = etag(shared.acls.digest(path))
    return AclsCreated(created=[Acl(**_shown(one)) for one in created])


@router.delete(
    "",
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED),
    operation_id="deleteAcls",
)
async def delete_acls(
    asker: Operator,
    shared: Shared,
    query: Annotated[AclDeletion, Query()],
    response: Response,
    if_match: IfMatch = None,
) -> AclsDeleted:
    """Delete the ACLs of a namespace that match, at least one of whose properties has to be given."""
    path, expected, wanted = _path(shared, query.namespace), read_digest(if_match), query.to_filter()
    if wanted == AclBindingFilter():
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "invalid-request",
            "the request would delete all ACLs of the namespace",
            "say which: give resource_type, name, principal or another property",
        )
    deleted, remaining = await shared.acls.delete(
        path, wanted, asker.principal, expected, is_dry_run=query.dry_run
    )
    response.headers["ETag"] = etag(shared.acls.digest(path))
    return AclsDeleted(
        is_dry_run=query.dry_run,
        deleted=[Acl(**_shown(one)) for one in deleted],
        remaining=[RemainingAcl(**_shown(one), reason=why) for one, why in remaining.items()],
    )


def _path(shared: Context, namespace: str) -> Path:
    path = read_path(namespace)
    shared.namespaces.tree.check(path)
    return path


def _binding(wanted: AclCreation) -> AclBinding:
    is_namespace = wanted.resource_type == AclResource.NAMESPACE
    return AclBinding(
        ResourceType.TOPIC if is_namespace else ResourceType[wanted.resource_type],
        PatternType[wanted.pattern_type],
        namespace_name(wanted.name.split(SEPARATOR)) if is_namespace else wanted.name,
        wanted.principal,
        wanted.host,
        Operation[wanted.operation],
        Permission[wanted.permission],
    )


def _shown(binding: AclBinding) -> dict[str, str]:
    """Return an ACL as the API has it; that of a namespace is one of a topic in the state and in Kafka's protocol."""
    body = body_of(binding)
    if not binding.is_of_namespace:
        return body
    return body | {"resource_type": AclResource.NAMESPACE.value, "name": binding.name.removesuffix(SEPARATOR)}


def _described(one: NamespaceAcl) -> AclFound:
    record = one.record
    return AclFound(
        **_shown(one.binding),
        is_configured=one.is_configured,
        on_behalf_of=None if record is None else record.on_behalf_of,
        at_ms=None if record is None else record.at_ms,
    )
