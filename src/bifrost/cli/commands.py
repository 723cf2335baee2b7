"""The command line of `bifrost`: declares the subcommands, which are implemented elsewhere.

What a command needs (Rich, a Kafka client, an embedded broker, Spark) is imported when the command is run. A valid
`run` does not come here: see `main.py`.
"""

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bifrost.cli.run import LogFormat, LogLevel, RunArguments, serve

LAZY_COMMANDS = {
    "credentials": "bifrost.cli.credentials",
    "demo": "bifrost.cli.demo",
    "reload": "bifrost.cli.reload",
    "check": "bifrost.cli.check",
    "explain": "bifrost.cli.explain",
    "inventory": "bifrost.cli.inventory",
    "schema": "bifrost.cli.schema",
    "pipeline": "bifrost.cli.pipeline",
    "state": "bifrost.cli.state",
    "control": "bifrost.cli.control",
    "namespaces": "bifrost.cli.admin.namespaces",
    "kafka-topics": "bifrost.cli.admin.kafka_topics",
    "kafka-acls": "bifrost.cli.admin.kafka_acls",
    "kafka-configs": "bifrost.cli.admin.kafka_configs",
    "kafka-consumer-groups": "bifrost.cli.admin.kafka_consumer_groups",
    "quotas": "bifrost.cli.admin.quotas",
    "acls": "bifrost.cli.admin.acls",
    "topics": "bifrost.cli.admin.topics",
    "transform": "bifrost.cli.transforming.transform",
    "sealing-key": "bifrost.cli.sealing_key",
}
"""Commands whose module is imported when they are run; the module has a function or command group of that name."""


class _Commands(TyperGroup):
    """The subcommands; in the help, a stub of the same name stands for each of LAZY_COMMANDS."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace a stub by the command itself, if it can be imported."""
        name = args[0]
        if name in LAZY_COMMANDS:
            try:
                module = importlib.import_module(LAZY_COMMANDS[name])
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] == "bifrost":
                    raise
            else:
                found = getattr(module, name.replace("-", "_"))
                if not isinstance(found, typer.Typer):
                    single = typer.Typer(add_completion=False, rich_markup_mode=None)
                    single.command(name)(found)
                    found = single
                self.add_command(typer.main.get_command(found), name)
        return super().resolve_command(ctx, args)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"bifrost {version('bifrost-kafka')}")
        raise typer.Exit


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command("run")
def _run(
    config: Annotated[
        Path,
        typer.Option("--config", "-c", help="The configuration file; docs/configuration.md explains it."),
    ],
    log_format: Annotated[
        LogFormat, typer.Option(help="plain: a line of key=value; json: an object a line.")
    ] = LogFormat.PLAIN,
    log_level: Annotated[LogLevel, typer.Option(help="The least severe level to write.")] = LogLevel.INFO,
) -> None:
    """Run a gateway until it is told to stop (Ctrl-C, SIGTERM)."""
    raise typer.Exit(serve(RunArguments(config, log_format, log_level)))


@app.command("check", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _check_stub() -> None:
    """Say whether a configuration is valid, and everything that is wrong with it."""
    raise AssertionError("the command itself needs no more packages")


@app.command("demo", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _demo_stub() -> None:
    """Show two tenants on one real Kafka, live; everything it needs is started by it."""
    typer.echo(
        "error: bifrost demo needs more packages: pip install '.[embedded]' in a clone of Bifrost", err=True
    )
    raise typer.Exit(1)


@app.command("credentials", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _credentials_stub() -> None:
    """Make the SCRAM verifiers of a password, for a credential's scram_file."""
    raise AssertionError("the command itself needs no more packages")


@app.command("reload", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _reload_stub() -> None:
    """Let a running gateway read its configuration again."""


@app.command("schema", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _schema_stub() -> None:
    """Print the JSON Schema of the configuration, for editors."""
    raise AssertionError("the command itself needs no more packages")


@app.command("explain", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _explain_stub() -> None:
    """Say which filters of records apply to a topic, in which order, and why."""
    raise AssertionError("the command itself needs no more packages")


@app.command("inventory", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _inventory_stub() -> None:
    """Write down which topics, groups and transactional IDs exist on the physical clusters, for certify."""
    raise AssertionError("the command itself needs no more packages")


@app.command("pipeline", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _pipeline_stub() -> None:
    """Turn the journal into usage, bills, certificates and advice, on Apache Spark."""
    raise AssertionError("the command itself says what it lacks")


@app.command("state", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _state_stub() -> None:
    """Export, import and verify what the gateways share."""
    raise AssertionError("the command itself needs no more packages")


@app.command("control", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _control_stub() -> None:
    """Serve the admin HTTP API."""
    raise AssertionError("the command itself says what it lacks")


@app.command("namespaces", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _namespaces_stub() -> None:
    """Create, list and delete namespaces, by the admin API."""
    raise AssertionError("the command itself needs no more packages")


@app.command("kafka-topics", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _kafka_topics_stub() -> None:
    """Create, list and delete namespaces with the options of KIP-37."""
    raise AssertionError("the command itself needs no more packages")


@app.command("quotas", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _quotas_stub() -> None:
    """Describe and alter quotas of users and client IDs, by the admin API."""
    raise AssertionError("the command itself needs no more packages")


@app.command("acls", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _acls_stub() -> None:
    """List, create and delete ACLs of a namespace, by the admin API."""
    raise AssertionError("the command itself needs no more packages")


@app.command("kafka-acls", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _kafka_acls_stub() -> None:
    """Administer ACLs of a namespace with the options of kafka-acls.sh."""
    raise AssertionError("the command itself needs no more packages")


@app.command("kafka-configs", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _kafka_configs_stub() -> None:
    """Describe and alter quotas and topic configs of a namespace with the options of kafka-configs.sh."""
    raise AssertionError("the command itself needs no more packages")


@app.command(
    "kafka-consumer-groups", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def _kafka_consumer_groups_stub() -> None:
    """List, describe, delete and reset consumer groups of a namespace with the options of kafka-consumer-groups.sh."""
    raise AssertionError("the command itself needs no more packages")


@app.command("topics", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _topics_stub() -> None:
    """Create, list, move, share and delete topics of namespaces, by the admin API."""
    raise AssertionError("the command itself needs no more packages")


@app.command("transform", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _transform_stub() -> None:
    """Try transforms of records."""
    typer.echo(
        "error: bifrost transform needs pyarrow: pip install '.[transforms]' in a clone of Bifrost", err=True
    )
    raise typer.Exit(1)


@app.command("sealing-key", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _sealing_key_stub() -> None:
    """Make the wrapped key that seals keys of records."""
    typer.echo(
        "error: bifrost sealing-key needs more packages: pip install '.[encryption]' in a clone of Bifrost",
        err=True,
    )
    raise typer.Exit(1)


@app.callback()
def bifrost(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A gateway that speaks the Kafka wire protocol: many isolated tenants on one real Apache Kafka."""
