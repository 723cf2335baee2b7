"""`bifrost control`: serve the admin HTTP API, in a process of its own, until SIGINT or SIGTERM.

Exit status: 0 it was told to stop; 1 it could not start; 2 the configuration or the command line is wrong.
"""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bifrost.cli.loading import config_files, read_config
from bifrost.cli.run import LogFormat, LogLevel

if TYPE_CHECKING:
    from bifrost.config.config_source import ConfigFiles
    from bifrost.config.model import Config
    from bifrost.gateway.reload.reloader import Reloader

NEEDS = "error: bifrost control needs more packages: pip install '.[control]' in a clone of Bifrost"


def control(
    config: Annotated[
        Path, typer.Option("--config", "-c", help="What bifrost run is given: a file or a folder.")
    ],
    log_format: Annotated[
        LogFormat, typer.Option(help="plain: a line of key=value; json: an object a line.")
    ] = LogFormat.PLAIN,
    log_level: Annotated[LogLevel, typer.Option(help="The least severe level to write.")] = LogLevel.INFO,
) -> None:
    """Serve the admin HTTP API until it is told to stop (Ctrl-C, SIGTERM)."""
    from bifrost.cli.logs import configure_logs

    configure_logs(log_format == LogFormat.JSON, log_level)
    source = config_files(config)
    loaded = read_config(source)
    if loaded.proxy.control is None:
        typer.echo(f"error: {config}: proxy.control is missing: docs/control.md says what it has", err=True)
        raise typer.Exit(2)
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        typer.echo(NEEDS, err=True)
        raise typer.Exit(1) from None

    from bifrost.control.server import PortTaken
    from bifrost.gateway.errors import BrokerError, StartError

    try:
        asyncio.run(_serve(loaded, source))
    except (BrokerError, StartError, PortTaken) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


async def _serve(config: "Config", source: "ConfigFiles") -> None:
    from bifrost.cli.admin.cluster_backend import open_backend
    from bifrost.control.application import build_application
    from bifrost.control.configs.configs import Configs
    from bifrost.control.configs.settling import settle_configs
    from bifrost.control.namespaces import Namespaces
    from bifrost.control.reloaded_control import ReloadedControl
    from bifrost.control.server import serve
    from bifrost.gateway.reload.reloader import Reloader

    assert config.proxy.control is not None
    async with open_backend(config) as backend:
        gate = build_application(config, backend)
        reloader = Reloader(ReloadedControl(config, gate), source)
        configs = Configs(config, backend, Namespaces(config, backend))
        begun = {asyncio.create_task(reloader.watch()), asyncio.create_task(settle_configs(configs))}

        def reload() -> None:
            task = asyncio.create_task(_reload(reloader))
            begun.add(task)
            task.add_done_callback(begun.discard)

        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
        try:
            await serve(gate, config.proxy.control)
        finally:
            for task in list(begun):
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)


async def _reload(reloader: "Reloader") -> None:
    await reloader.reload()
