"""The options that jobs over stored records share: brokers and topics, KEKs, and a gateway's configuration."""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bifrost.cli.jobs.job_runs import client_properties
from bifrost.cli.jobs.shared_options import with_options
from bifrost.cli.loading import config_files, read_config
from bifrost.config.checks.sealing_keys import read_sealing_key_file
from bifrost.config.files.reading import UnreadableError
from bifrost.config.model import Config
from bifrost.encryption.kek import Kek
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.client_settings import ClientSettings, read_client_settings
from bifrost.pipeline.stored.kek_texts import KmsAccess, read_kek
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.pipeline.stored.stored_topics import to_ms

if TYPE_CHECKING:
    from bifrost.gateway.state.state_client import StateClient
    from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
    from bifrost.tenancy.namespaces.topic_aliases import TopicAliases

Brokers = Annotated[str, typer.Option("--bootstrap-servers", metavar="HOST:PORT,...", help="The brokers.")]
OutDir = Annotated[
    str, typer.Option("--out", metavar="DIR", help="Where the answer is written; any path of Spark.")
]
KafkaConfig = Annotated[
    Path | None,
    typer.Option(
        "--kafka-config", metavar="FILE", help="Settings of the Kafka client, key=value: its security."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="What bifrost run is given: a file or a folder. Its filters count."),
]
UpstreamName = Annotated[
    str, typer.Option("--upstream", help="Which upstream of --config these brokers are, if it has several.")
]
Since = Annotated[
    str,
    typer.Option(
        "--since", metavar="TIME", help="Only from this time on, e.g. 2026-10-05 or 2026-10-05T12:00."
    ),
]


def read_scan_options(
    *,
    bootstrap_servers: Brokers,
    out: OutDir,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="A topic by its physical name; may be repeated.")
    ] = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option("--pattern", metavar="REGEX", help="Topics whose whole name matches; may be repeated."),
    ] = None,
    since: Since = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Only before this time.")] = "",
    kafka_config: KafkaConfig = None,
) -> ScanOptions:
    """Return what a job reads, and where it writes.

    Raises:
        typer.BadParameter: something is malformed.
    """
    for one in pattern or ():
        try:
            re.compile(one)
        except re.error as error:
            raise typer.BadParameter(f"{one!r}: {error}", param_hint="--pattern") from None
    times = _read_time(since, "--since"), _read_time(until, "--until")
    settings = read_settings(bootstrap_servers, kafka_config)
    return ScanOptions(settings, out, tuple(topic or ()), tuple(pattern or ()), *times)


with_scan_options = with_options("scan", read_scan_options)


@dataclass(frozen=True, slots=True)
class KekOptions:
    """The KEKs of a job, and how their services are reached."""

    opens: tuple[Kek, ...]
    access: KmsAccess
    cluster: str
    """What the seals name the cluster; empty: Kafka's ID of it."""


def read_kek_options(
    *,
    open_with: Annotated[
        list[str] | None,
        typer.Option("--open-with", metavar="KEK", help="A KEK of the topic; may be repeated."),
    ] = None,
    cluster: Annotated[
        str, typer.Option(help="What the seals name the cluster. Default: Kafka's ID of it.")
    ] = "",
    vault_token_file: Annotated[
        str, typer.Option(metavar="FILE", help="A token of Vault, on every executor.")
    ] = "",
    vault_ca_file: Annotated[str, typer.Option(metavar="FILE", help="Certificates of Vault's, PEM.")] = "",
    vault_namespace: Annotated[str, typer.Option(help="Of Vault Enterprise.")] = "",
    kms_endpoint: Annotated[str, typer.Option(metavar="URL", help="Of AWS KMS. Default: the region's.")] = "",
) -> KekOptions:
    """Return the KEKs of a job.

    Raises:
        typer.BadParameter: a text names none.
    """
    access = KmsAccess(vault_token_file, vault_ca_file, vault_namespace, kms_endpoint)
    opens = tuple(read_kek_option(one, access, "--open-with") for one in open_with or ())
    return KekOptions(opens, access, cluster)


with_kek_options = with_options("keks", read_kek_options)


def read_kek_option(text: str, access: KmsAccess, name: str) -> Kek:
    """Return the KEK of an option.

    Raises:
        typer.BadParameter: it names none.
    """
    try:
        return read_kek(text, access)
    except PipelineError as error:
        raise typer.BadParameter(str(error), param_hint=name) from None


def read_key_option(file: Path) -> str:
    """Return the wrapped sealing key of `--sealing-key`, as its file has it.

    Raises:
        typer.BadParameter: the file has none.
    """
    try:
        return read_sealing_key_file(file)
    except UnreadableError as error:
        raise typer.BadParameter(f"{file}: {error}", param_hint="--sealing-key") from None


def read_settings(bootstrap_servers: str, kafka_config: Path | None) -> ClientSettings:
    """Return how a job reaches the brokers.

    Raises:
        typer.BadParameter: something is malformed or not supported.
    """
    properties = client_properties(kafka_config)
    try:
        return read_client_settings(bootstrap_servers, properties)
    except PipelineError as error:
        name, _, text = str(error).partition(": ")
        hint = name if text and name.startswith("--") else None
        raise typer.BadParameter(text if hint else str(error), param_hint=hint) from None


def read_tenants(path: Path, upstream: str) -> "ConfiguredTenants":
    """Return the tenants of a configuration, with the moved topics of its state.

    Raises:
        typer.BadParameter: it has several upstreams, or none of this name.
        PipelineError: its state cannot be read.
    """
    from bifrost.pipeline.stored.configured_topics import ConfiguredTenants

    config = read_config(config_files(path))
    named = {one.name: one for one in config.clusters}
    if upstream and upstream not in named:
        raise typer.BadParameter(f"{path} has no upstream {upstream}", param_hint="--upstream")
    if not upstream and len(named) > 1:
        raise typer.BadParameter(f"{path} has several: name one", param_hint="--upstream")
    cluster = named[upstream] if upstream else config.clusters[0]
    index = config.proxy.partition_index
    return ConfiguredTenants(
        config.tenants_of(cluster),
        {} if config.proxy.state is None else _moved(config).parts,
        index.topic if index.enabled else "",
    )


def _moved(config: Config) -> "TopicAliases":
    from bifrost.cli.inventory import topic_aliases
    from bifrost.cli.logs import configure_logs
    from bifrost.cli.state import with_state
    from bifrost.gateway.errors import BrokerError, StartError
    from bifrost.records.batch_reader import UnreadableBatch
    from bifrost.state.state_record import UnreadableState

    configure_logs(as_json=False, level="critical")  # what a gateway would log is an error of this command

    async def work(client: "StateClient") -> "TopicAliases":
        return await topic_aliases(config, client)

    try:
        return asyncio.run(with_state(config, work))
    except (BrokerError, StartError, UnreadableState, UnreadableBatch, OSError) as error:
        raise PipelineError(f"the state of --config: {error}") from None


def _read_time(text: str, name: str) -> int | None:
    try:
        return to_ms(text) if text else None
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time: write e.g. 2026-10-05T12:00", param_hint=name
        ) from None
