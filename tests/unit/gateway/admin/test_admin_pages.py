"""What the operator's port answers; how it does is in test_admin.py."""

import asyncio
from http import HTTPStatus
from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.gateway.admin.admin_pages import build_admin
from bifrost.gateway.admin.admin_request import AdminRequest
from bifrost.gateway.admin.counted import OfProcess
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.reload_outcome import Outcome
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from unit.gateway.test_gateway import CONFIG

WITH_ADMIN = Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "admin": {"port": 9404}}})


class FakeReloader:
    outcomes: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
    applied_s = 1.0

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    async def reload(self) -> tuple[Outcome, str]:
        return self.outcome, "because"


def answers(path: str, **options: Any) -> tuple[int, bytes]:
    gateway = Gateway(WITH_ADMIN)
    gateway.is_ready = options.pop("is_ready", True)
    admin = build_admin(WITH_ADMIN, OfProcess(gateway), options.pop("reloader", None), **options)
    assert admin is not None
    request = AdminRequest("GET", path, "", {})
    page = asyncio.run((admin._pages | admin._commands)[path](request))  # type: ignore[operator]
    return page.status, page.body


def test_without_the_section_there_is_no_port() -> None:
    config = Config.model_validate(CONFIG)

    assert build_admin(config, OfProcess(Gateway(config)), None) is None


def test_health_and_readiness() -> None:
    assert answers("/healthz") == (200, b"ok\n")
    assert answers("/healthz", is_healthy=lambda: False)[0] == 503
    assert answers("/readyz") == (200, b"ready\n")
    assert answers("/readyz", is_ready=False)[0] == 503


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.APPLIED, HTTPStatus.OK),
        (Outcome.UNCHANGED, HTTPStatus.OK),
        (Outcome.REFUSED, HTTPStatus.UNPROCESSABLE_ENTITY),
    ],
)
def test_a_reload_says_what_came_of_it(outcome: Outcome, status: HTTPStatus) -> None:
    assert answers("/reload", reloader=FakeReloader(outcome)) == (status, f"{outcome}: because\n".encode())


def test_metrics_are_made_after_what_is_to_be_done_before() -> None:
    done = []

    async def before() -> None:
        done.append(True)

    status, body = answers("/metrics", before_metrics=before)

    assert done == [True]
    assert status == 200
    assert b"kafka_proxy_ready 1.0" in body
    assert b"process_cpu_seconds_total" in body


def test_a_listener_that_does_not_accept_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ListenerWatch, "not_accepting", lambda _: ["plaintext at h:9092 (bootstrap)"])

    status, text = answers("/readyz")

    assert status == 503
    assert b"plaintext at h:9092 (bootstrap)" in text
