"""Configs by namespace: `/v1/namespaces/{name}/configs`."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from bifrost.control.configs.configs import Report
from bifrost.control.etag import etag
from bifrost.control.resources.context import Context, Operator, Shared, Viewer, problems
from bifrost.control.resources.namespaces import Name
from bifrost.tenancy.namespaces.namespace_path import Path, read_path, shown
from bifrost.tenancy.topic_configs.config_plan import Standing
from bifrost.tenancy.topic_configs.config_records import MAX_CONFIGS

MAX_TOPICS = 10_000
"""Entries of each list of a report."""

Value = Annotated[str, Field(max_length=1000)]


class Inherited(BaseModel):
    """A config that topics inherit."""

    value: str
    namespace: str = Field(description="The nearest namespace that has it.")


class Configs(BaseModel):
    """The configs of a namespace."""

    namespace: str
    configs: dict[str, str] = Field(description="Those of the namespace itself.")
    inherited: dict[str, Inherited] = Field(
        description="What its topics inherit, also from namespaces above."
    )
    version: int | None = Field(description="The version of the record; null: the state has none.")
    on_behalf_of: str | None = Field(description="Who has changed it last, if it is known.")


class ConfigAlteration(BaseModel):
    """What is set and removed."""

    model_config = ConfigDict(extra="forbid")

    set: dict[str, Value] = Field(default_factory=dict, max_length=MAX_CONFIGS)
    remove: list[str] = Field(default_factory=list, max_length=MAX_CONFIGS)


class TopicConfig(BaseModel):
    """A config of a topic."""

    topic: str = Field(description="The topic with its namespace, such as `acme:eu/orders`.")
    config: str
    found: str | None = Field(description="The value that was set for it; null: none.")
    wanted: str | None = Field(description="The value that it has then; null: none.")
    namespace: str | None = Field(description="The namespace that it is inherited from.")


class ConfigReport(Configs):
    """The configs of a namespace, and how its topics and those of the namespaces below stand to them."""

    is_dry_run: bool = Field(description="Whether nothing was changed.")
    changed: list[TopicConfig] = Field(description=f"What was, or has to be, changed; {MAX_TOPICS} at most.")
    overriding: list[TopicConfig] = Field(description=f"Values of topics' own, {MAX_TOPICS} at most.")
    unchanged_count: int = Field(description="How many inherited values were there already.")
    errors: dict[str, str] = Field(description="Kafka's error of each topic that could not be changed.")


router = APIRouter(prefix="/v1/namespaces", tags=["configs"])


@router.get("/{name}/configs", responses=problems(HTTPStatus.NOT_FOUND), operation_id="describeConfigs")
async def describe_configs(asker: Viewer, shared: Shared, name: Name, response: Response) -> Configs:
    """Describe what topics of a namespace inherit."""
    found = _described(shared, read_path(name))
    if found.version is not None:
        response.headers["ETag"] = etag(found.version)
    return found


@router.get("/{name}/configs/report", responses=problems(HTTPStatus.NOT_FOUND), operation_id="reportConfigs")
async def report_configs(asker: Viewer, shared: Shared, name: Name) -> ConfigReport:
    """Say which topics inherit, which have their own value, and which have to be changed still."""
    path = read_path(name)
    return _reported(shared, path, await shared.configs.report(path), is_dry_run=True)


@router.post(
    "/{name}/configs",
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
    operation_id="alterConfigs",
)
async def alter_configs(
    asker: Operator,
    shared: Shared,
    name: Name,
    wanted: ConfigAlteration,
    dry_run: Annotated[bool, Query(description="Whether only to say what would be changed.")] = False,
) -> ConfigReport:
    """Set and remove configs of a namespace, and change the topics that inherit them."""
    path = read_path(name)
    changes: dict[str, str | None] = {**dict.fromkeys(wanted.remove), **wanted.set}
    report = await shared.configs.alter(path, changes, asker.principal, dry_run=dry_run)
    return _reported(shared, path, report, is_dry_run=dry_run)


def _described(shared: Context, path: Path) -> Configs:
    configs, record = shared.configs.of(path)
    return Configs(
        namespace=shown(path),
        configs=dict(configs.configs),
        inherited={
            name: Inherited(value=value, namespace=shown(above))
            for name, (value, above) in sorted(shared.configs.model.inherited(path).items())
        },
        version=None if record is None else record.version,
        on_behalf_of=None if record is None else record.on_behalf_of,
    )


def _reported(shared: Context, path: Path, report: Report, *, is_dry_run: bool) -> ConfigReport:
    names = {one.topic.physical: _topic(one) for one in report.standings}
    changed = [_entry(one) for one in report.standings if one.is_changed]
    overriding = [_entry(one) for one in report.standings if one.overrides]
    return ConfigReport(
        **_described(shared, path).model_dump(),
        is_dry_run=is_dry_run,
        changed=changed[:MAX_TOPICS],
        overriding=overriding[:MAX_TOPICS],
        unchanged_count=sum(
            not one.is_changed and not one.overrides and one.found is not None for one in report.standings
        ),
        errors={names[physical]: error for physical, error in report.errors.items()},
    )


def _entry(one: Standing) -> TopicConfig:
    return TopicConfig(
        topic=_topic(one),
        config=one.config,
        found=one.found,
        wanted=one.wanted,
        namespace=None if one.namespace is None else shown(one.namespace),
    )


def _topic(one: Standing) -> str:
    return f"{shown(one.topic.path)}/{one.topic.name}"
