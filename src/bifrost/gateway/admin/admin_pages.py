"""The pages and commands of the operator's HTTP port."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from bifrost.config.model import Config
from bifrost.gateway.admin.counted import Counted
from bifrost.gateway.loop.steps import in_steps
from bifrost.gateway.reload.reloader import Reloader
from bifrost.gateway.reload_outcome import Outcome

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from bifrost.gateway.admin.admin_port import Admin
    from bifrost.gateway.admin.admin_request import AdminRequest


NOT_READY = (
    b"not ready: no broker answers, none has a port (broker_id_base), or the gateway starts or stops\n"
)


def build_admin(
    config: Config,
    counted: Counted,
    reloader: Reloader | None,
    is_healthy: Callable[[], bool] = lambda: True,
    before_metrics: Callable[[], Awaitable[None]] | None = None,
    processes: "Collector | None" = None,
) -> "Admin | None":
    """Return the operator's port, None if the configuration has none.

    Args:
        config: the configuration with the port.
        counted: the counters for the metrics.
        reloader: runs the command to reload, if there is one.
        is_healthy: whether the process, or at least one worker, works.
        before_metrics: awaited before the metrics are made.
        processes: collects the metrics of the gateway's processes; None if there is only this one.
    """
    admin = config.proxy.admin
    if admin is None:
        return None
    # 6 MiB, only if the port is used.
    from bifrost.gateway.admin.admin_port import Admin, Page
    from bifrost.gateway.admin.exposition import STEP_S
    from bifrost.gateway.admin.metrics import CONTENT_TYPE, Metrics

    metrics, one_at_a_time = Metrics(counted, processes), asyncio.Lock()

    async def show_metrics(_request: "AdminRequest") -> Page:
        async with one_at_a_time:
            if before_metrics is not None:
                await before_metrics()
            return Page(HTTPStatus.OK, await in_steps(metrics.exposition(), STEP_S), CONTENT_TYPE)

    async def show_health(_request: "AdminRequest") -> Page:
        if is_healthy():
            return Page(HTTPStatus.OK, b"ok\n")
        return Page(HTTPStatus.SERVICE_UNAVAILABLE, b"no worker works\n")

    async def show_readiness(_request: "AdminRequest") -> Page:
        not_accepting = counted.listener_watch.not_accepting()
        if not_accepting:
            text = f"not ready: no connection is accepted at listener {', '.join(not_accepting)}\n"
            return Page(HTTPStatus.SERVICE_UNAVAILABLE, text.encode())
        if counted.is_ready:
            return Page(HTTPStatus.OK, b"ready\n")
        return Page(HTTPStatus.SERVICE_UNAVAILABLE, NOT_READY)

    async def reload(_request: "AdminRequest") -> Page:
        assert reloader is not None
        outcome, text = await reloader.reload()
        is_refused = outcome is Outcome.REFUSED
        status = HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK
        return Page(status, f"{outcome}: {text}\n".encode())

    pages = {"/metrics": show_metrics, "/healthz": show_health, "/readyz": show_readiness}
    return Admin(admin.bind_host, admin.port, pages, {"/reload": reload} if reloader else {})
