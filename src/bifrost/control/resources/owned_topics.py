"""The topics of namespaces at the brokers: `/v1/namespaces/{name}/topics`."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from bifrost.config.name_template import MAX_TOPIC_NAME_LENGTH
from bifrost.control.resources.configs import ConfigAlteration
from bifrost.control.resources.context import Operator, Shared, Viewer, problems
from bifrost.control.resources.namespaces import Name
from bifrost.control.topics.owned_topics import BY_DEFAULT, OwnedTopic
from bifrost.tenancy.namespaces.alias_table import Access, Place
from bifrost.tenancy.namespaces.namespace_path import read_path
from bifrost.tenancy.topic_configs.config_records import MAX_CONFIGS

TopicName = Annotated[
    str, Field(description="Its name in the namespace.", min_length=1, max_length=MAX_TOPIC_NAME_LENGTH)
]

TopicInPath = Annotated[
    str, InPath(description="Its name in the namespace.", max_length=MAX_TOPIC_NAME_LENGTH)
]


class TopicOfNamespace(BaseModel):
    """A topic that a namespace owns or sees."""

    topic: str = Field(description="The namespace and its name there, such as `acme:eu/orders`.")
    physical: str = Field(description="What the brokers call it.")
    partitions: int
    replication_factor: int
    configs: dict[str, str] = Field(
        description="The configs that are set for it, with those that it inherits."
    )
    access: Access | None = Field(
        description="What may be done with a topic of another owner; null: it is owned."
    )


class TopicsOfNamespace(BaseModel):
    """Topics of namespaces."""

    topics: list[TopicOfNamespace]


class NewTopic(BaseModel):
    """A topic to be created."""

    model_config = ConfigDict(extra="forbid")

    topic: TopicName
    partitions: int = Field(default=BY_DEFAULT, ge=-1, le=1_000_000, description="-1: the brokers' default.")
    replication_factor: int = Field(
        default=BY_DEFAULT, ge=-1, le=32_767, description="-1: the brokers' default."
    )
    configs: dict[str, Annotated[str, Field(max_length=1000)]] = Field(
        default_factory=dict, max_length=MAX_CONFIGS, description="The configs that it has of its own."
    )


class CreatedTopic(TopicOfNamespace):
    """A topic that was created, or would be."""

    is_dry_run: bool = Field(description="Whether nothing was changed.")


router = APIRouter(prefix="/v1/namespaces", tags=["topics"])
_REFUSALS = problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


@router.get("/{name}/topics", responses=problems(HTTPStatus.NOT_FOUND), operation_id="listTopics")
async def list_topics(
    asker: Viewer,
    shared: Shared,
    name: Name,
    recursive: Annotated[bool, Query(description="Whether with those of the namespaces below it.")] = False,
) -> TopicsOfNamespace:
    """List the topics that a namespace owns, wherever they were created, and those that are shared with it."""
    found = await shared.owned_topics.seen_in(read_path(name), recursive=recursive)
    return TopicsOfNamespace(topics=[TopicOfNamespace.model_validate(_described(one)) for one in found])


@router.post("/{name}/topics", responses=_REFUSALS, operation_id="createTopic")
async def create_topic(
    asker: Operator,
    shared: Shared,
    name: Name,
    wanted: NewTopic,
    dry_run: Annotated[bool, Query(description="Whether only to say what would be created.")] = False,
) -> CreatedTopic:
    """Create a topic under the policies of its namespace, with what it inherits."""
    made = await shared.owned_topics.create(
        Place(read_path(name), wanted.topic),
        wanted.partitions,
        wanted.replication_factor,
        wanted.configs,
        asker.principal,
        dry_run=dry_run,
    )
    return CreatedTopic.model_validate(_described(made) | {"is_dry_run": dry_run})


@router.post("/{name}/topics/{topic}/configs", responses=_REFUSALS, operation_id="alterTopicConfigs")
async def alter_topic_configs(
    asker: Operator, shared: Shared, name: Name, topic: TopicInPath, wanted: ConfigAlteration
) -> TopicOfNamespace:
    """Set and remove configs that a topic has of its own; one that is removed is inherited again."""
    place, changes = Place(read_path(name), topic), {**dict.fromkeys(wanted.remove), **wanted.set}
    altered = await shared.owned_topics.alter(place, changes, asker.principal)
    return TopicOfNamespace.model_validate(_described(altered))


@router.delete("/{name}/topics/{topic}", responses=_REFUSALS, operation_id="deleteTopic")
async def delete_topic(
    asker: Operator,
    shared: Shared,
    name: Name,
    topic: TopicInPath,
) -> TopicOfNamespace:
    """Delete a topic that the namespace owns, with its records."""
    gone = await shared.owned_topics.delete(Place(read_path(name), topic))
    return TopicOfNamespace.model_validate(_described(gone))


def _described(one: OwnedTopic) -> dict[str, object]:
    return {
        "topic": str(one.place),
        "physical": one.physical,
        "partitions": one.state.partitions,
        "replication_factor": one.state.replication_factor,
        "configs": dict(one.state.configs),
        "access": one.access,
    }
