"""Moved and shared topics: `/v1/topics`."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from bifrost.config.name_template import MAX_TOPIC_NAME_LENGTH
from bifrost.control.resources.context import Operator, Shared, Viewer, problems
from bifrost.control.resources.namespaces import MAX_PATH_LENGTH
from bifrost.control.shared_topics import SharedTopic
from bifrost.tenancy.namespaces.alias_table import Access, Place
from bifrost.tenancy.namespaces.namespace_path import read_path

_MAX_PLACE_LENGTH = MAX_PATH_LENGTH + 1 + MAX_TOPIC_NAME_LENGTH

PlaceText = Annotated[
    str,
    Field(description="A namespace and a topic, such as `acme:eu/orders`.", max_length=_MAX_PLACE_LENGTH),
]


class Share(BaseModel):
    """A place where a topic can be seen beside its owner's."""

    place: PlaceText
    access: Access = Field(description="What clients may do there.")


class Topic(BaseModel):
    """A topic that was moved or is shared."""

    home: PlaceText = Field(description="Where its physical name puts it; it never changes.")
    owner: PlaceText = Field(description="Where it is owned.")
    shares: list[Share]


class TopicList(BaseModel):
    """Topics that were moved or are shared."""

    topics: list[Topic]


class _Places(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: PlaceText = Field(description="Where the topic is owned.")


class TopicMove(_Places):
    """A move."""

    target: PlaceText = Field(description="Where it is owned from then on.")
    keeps_name: bool = Field(
        default=False, description="Whether it is also shared to the old place, to read and write."
    )


class TopicShare(_Places):
    """A share."""

    target: PlaceText = Field(description="Where it can be seen as well.")
    access: Access = Field(default=Access.READ, description="What clients may do there.")


class TopicUnshare(_Places):
    """The end of a share."""

    target: PlaceText = Field(description="Where it can be seen no longer.")


router = APIRouter(prefix="/v1/topics", tags=["topics"])
_REFUSALS = problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


@router.get("", responses=problems(HTTPStatus.NOT_FOUND), operation_id="listSharedTopics")
async def list_topics(
    asker: Viewer,
    shared: Shared,
    under: Annotated[
        str | None,
        Query(description="Only with a place in this namespace, or below.", max_length=MAX_PATH_LENGTH),
    ] = None,
) -> TopicList:
    """List the topics that were moved or are shared."""
    found = shared.topics.below(None if under is None else read_path(under))
    return TopicList(topics=[_described(one) for one in found])


@router.post("/move", responses=_REFUSALS, operation_id="moveTopic")
async def move_topic(asker: Operator, shared: Shared, wanted: TopicMove) -> Topic:
    """Give a topic another owner or name. No record is copied."""
    source, target = Place.read(wanted.source), Place.read(wanted.target)
    return _described(await shared.topics.move(source, target, asker.principal, keeps_name=wanted.keeps_name))


@router.post("/share", responses=_REFUSALS, operation_id="shareTopic")
async def share_topic(asker: Operator, shared: Shared, wanted: TopicShare) -> Topic:
    """Show a topic to another namespace or tenant as well, or change what may be done there."""
    source, target = Place.read(wanted.source), Place.read(wanted.target)
    return _described(await shared.topics.share(source, target, wanted.access, asker.principal))


@router.post("/unshare", responses=_REFUSALS, operation_id="unshareTopic")
async def unshare_topic(asker: Operator, shared: Shared, wanted: TopicUnshare) -> Topic:
    """End a share; it holds on open connections within a second."""
    source, target = Place.read(wanted.source), Place.read(wanted.target)
    return _described(await shared.topics.unshare(source, target, asker.principal))


def _described(topic: SharedTopic) -> Topic:
    shares = [Share(place=str(place), access=access) for place, access in topic.shares]
    return Topic(home=str(topic.home), owner=str(topic.owner), shares=shares)
