"""The consumer groups of namespaces at the brokers: `/v1/namespaces/{name}/groups`, and `/offsets` to set them back."""

from http import HTTPStatus
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bifrost.control.groups.groups import EARLIEST, LATEST, CommittedOffset, Group, Reset
from bifrost.control.resources.context import Operator, Shared, Viewer, problems
from bifrost.control.resources.namespaces import Name
from bifrost.tenancy.namespaces.namespace_path import read_path

MAX_GROUP_LENGTH = 32_767
"""Longest name that Kafka's protocol has for a string."""

MAX_TOPICS = 1_000
MAX_PARTITIONS = 10_000
"""Topics of one reset, and partitions of each: more than a tenant has as a rule; the brokers answer in a moment."""

GroupInPath = Annotated[
    str,
    InPath(
        description="Its name as clients of the namespace know it.", min_length=1, max_length=MAX_GROUP_LENGTH
    ),
]
Offset = Annotated[int, Field(ge=0, lt=2**63)]


class GroupInList(BaseModel):
    """A consumer group in a list."""

    group: str = Field(description="Its name as clients of the namespace know it, such as `eu:reports`.")
    state: str = Field(description="Kafka's word, such as `Stable`.")
    group_type: str = Field(description="`classic` or `consumer`.")


class ListOfGroups(BaseModel):
    """Consumer groups of a namespace."""

    groups: list[GroupInList]


class MemberOfGroup(BaseModel):
    """A member of a group."""

    member_id: str
    client_id: str
    host: str


class OffsetOfGroup(BaseModel):
    """Where a group is in a partition."""

    topic: str = Field(description="Its name as clients of the namespace know it.")
    partition: int
    offset: int | None
    end_offset: int | None = Field(
        description="The end of the partition; null: the topic has no leader there, or does not exist."
    )
    lag: int | None


class DescribedGroup(BaseModel):
    """A consumer group."""

    group: str
    state: str
    members: list[MemberOfGroup]
    offsets: list[OffsetOfGroup]


class OffsetReset(BaseModel):
    """Where a group without members is to go on: exactly one of `to`, `timestamp_ms`, `offset` and `shift_by`."""

    model_config = ConfigDict(extra="forbid")

    group: str = Field(min_length=1, max_length=MAX_GROUP_LENGTH)
    topics: (
        dict[str, Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(max_length=MAX_PARTITIONS)]]
        | None
    ) = Field(
        default=None,
        min_length=1,
        max_length=MAX_TOPICS,
        description="Partitions by topic, none for all of a topic; null: all that it has committed.",
    )
    to: Literal["earliest", "latest"] | None = None
    timestamp_ms: Offset | None = Field(
        default=None, description="Milliseconds since 1970; behind the last record it is the end."
    )
    offset: Offset | None = Field(default=None, description="Bounded by what is there.")
    shift_by: Annotated[int, Field(gt=-(2**63), lt=2**63)] | None = Field(
        default=None, description="Added to what is committed, and bounded by what is there."
    )

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        given = [one for one in (self.to, self.timestamp_ms, self.offset, self.shift_by) if one is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of to, timestamp_ms, offset and shift_by")
        return self

    @property
    def target(self) -> Reset:
        """What it asks for."""
        if self.to is not None:
            return Reset(timestamp=EARLIEST if self.to == "earliest" else LATEST)
        return Reset(self.timestamp_ms, self.offset, self.shift_by)


class OffsetsAfterReset(BaseModel):
    """Where a group goes on."""

    group: str
    offsets: list[OffsetOfGroup]
    is_dry_run: bool = Field(description="Whether nothing was changed.")


router = APIRouter(prefix="/v1/namespaces", tags=["groups"])
_MISSING = problems(HTTPStatus.NOT_FOUND)
_REFUSALS = problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


@router.get("/{name}/groups", responses=_MISSING, operation_id="listGroups")
async def list_groups(asker: Viewer, shared: Shared, name: Name) -> ListOfGroups:
    """List the consumer groups that clients of a namespace see."""
    found = await shared.groups.seen_in(read_path(name))
    return ListOfGroups(
        groups=[GroupInList(group=one.group_id, state=one.state, group_type=one.group_type) for one in found]
    )


@router.get("/{name}/groups/{group:path}", responses=_MISSING, operation_id="describeGroup")
async def describe_group(asker: Viewer, shared: Shared, name: Name, group: GroupInPath) -> DescribedGroup:
    """Describe a consumer group, its members and its offsets."""
    return _described(await shared.groups.describe(read_path(name), group))


@router.delete("/{name}/groups/{group:path}", responses=_REFUSALS, operation_id="deleteGroup")
async def delete_group(asker: Operator, shared: Shared, name: Name, group: GroupInPath) -> DescribedGroup:
    """Delete a consumer group without members, with its offsets."""
    return _described(await shared.groups.delete(read_path(name), group))


@router.post("/{name}/offsets", responses=_REFUSALS, operation_id="resetOffsets")
async def reset_offsets(
    asker: Operator,
    shared: Shared,
    name: Name,
    wanted: OffsetReset,
    dry_run: Annotated[bool, Query(description="Whether only to say where it would go on.")] = False,
) -> OffsetsAfterReset:
    """Set where a consumer group without members goes on."""
    offsets = await shared.groups.reset(
        read_path(name), wanted.group, wanted.topics, wanted.target, dry_run=dry_run
    )
    return OffsetsAfterReset(group=wanted.group, offsets=list(map(_offset, offsets)), is_dry_run=dry_run)


def _described(group: Group) -> DescribedGroup:
    return DescribedGroup(
        group=group.group_id,
        state=group.state,
        members=[
            MemberOfGroup(member_id=one.member_id, client_id=one.client_id, host=one.host)
            for one in group.members
        ],
        offsets=list(map(_offset, group.offsets)),
    )


def _offset(one: CommittedOffset) -> OffsetOfGroup:
    return OffsetOfGroup(
        topic=one.topic, partition=one.partition, offset=one.offset, end_offset=one.end_offset, lag=one.lag
    )
