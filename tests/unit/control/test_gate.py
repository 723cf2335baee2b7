import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bifrost.control.access import Access
from bifrost.control.counts import Counts
from bifrost.control.gate import CERTIFICATE, Gate
from support.control.asking import TOKENS
from support.control.table_backend import CONTROL, Api, TableBackend, settings_with
from support.identity.certificates import Authority


def gate_of(app: Any, folder: Path, **control: Any) -> TestClient:
    settings, backend = settings_with(folder, **control), TableBackend()
    gate = Gate(app, settings, Access(settings), backend, Counts(backend), now_s=lambda: 5.0)
    headers = {"Authorization": f"Bearer {TOKENS['alice']}"}
    return TestClient(gate, headers=headers, raise_server_exceptions=False)


@pytest.mark.parametrize("path", ["/v1/namespaces", "/metrics", "/nothing", "/v1/namespaces/acme:a"])
@pytest.mark.parametrize(
    "token", [None, "", "Bearer", "Bearer wrong", "Basic YTpi", f"Bearer {TOKENS['bob']}x"]
)
def test_no_path_is_shown_without_an_identity(api: Api, path: str, token: str | None) -> None:
    answer = api.ask("GET", path, admin=None, headers={} if token is None else {"Authorization": token})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="bifrost"'
    assert answer.json() == {
        "type": "urn:bifrost:problem:unauthenticated",
        "title": "unauthenticated",
        "status": 401,
        "detail": "the request has no token and no certificate of an admin",
        "instance": path,
        "remedy": "send the header Authorization: Bearer TOKEN with a token of proxy.control.admins",
    }


def test_probes_and_the_document_need_no_identity(api: Api) -> None:
    for path in ("/healthz", "/readyz", "/v1/openapi.json"):
        assert api.ask("GET", path, admin=None).status_code == 200


def test_a_body_is_not_read_before_the_admin_is_known(tmp_path: Path) -> None:
    read: list[object] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        read.append(await receive())

    answer = gate_of(app, tmp_path).post("/v1/x", content=b"x", headers={"Authorization": "Bearer wrong"})

    assert (answer.status_code, read) == (401, [])


def test_a_state_that_is_not_read_is_not_shown(api: Api) -> None:
    api.backend.is_current, api.backend.problem = False, "no broker answers"

    answer = api.ask("GET", "/v1/namespaces")

    assert (answer.status_code, answer.json()["detail"]) == (503, "the state is not read: no broker answers")
    assert api.ask("GET", "/readyz").status_code == 503
    assert api.ask("GET", "/healthz").status_code == 200
    assert "bifrost_control_state_up 0.0" in api.ask("GET", "/metrics").text


def test_a_body_has_a_bound_with_and_without_a_length(tmp_path: Path) -> None:
    api = Api(tmp_path, max_request_bytes=1024)
    headers = {"Authorization": f"Bearer {TOKENS['alice']}", "Content-Type": "application/json"}

    told = api.client.post("/v1/namespaces", content=b"x" * 1025, headers=headers)
    streamed = api.client.post("/v1/namespaces", content=iter([b'{"name": "', b"x" * 1025]), headers=headers)

    for answer in (told, streamed):
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:bifrost:problem:too-large")
        assert answer.json()["detail"] == "the body has more than 1024 bytes"


def test_an_admin_that_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    api = Api(tmp_path, max_requests_per_second=1)

    answers = [api.ask("GET", "/v1/namespaces") for _ in range(5)]

    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"] == "1"
    assert "Admin:alice" in answers[-1].json()["detail"]
    assert api.ask("GET", "/v1/namespaces", admin="bob").status_code == 200


def test_those_without_an_identity_share_one_rate(tmp_path: Path) -> None:
    api = Api(tmp_path, max_requests_per_second=1)

    statuses = [api.ask("GET", "/v1/namespaces", admin=None).status_code for _ in range(5)]

    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert api.ask("GET", "/v1/namespaces").status_code == 200


def test_a_request_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    answer = gate_of(app, tmp_path, request_timeout_ms=1000).get("/v1/x")

    assert (answer.status_code, answer.json()["type"]) == (504, "urn:bifrost:problem:timeout")


def test_too_many_requests_at_once_are_refused(tmp_path: Path) -> None:
    settings, backend = settings_with(tmp_path, max_requests=1), TableBackend()
    begun, statuses = asyncio.Event(), []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await asyncio.sleep(60)

    gate = Gate(app, settings, Access(settings), backend, Counts(backend))
    headers = [(b"authorization", f"Bearer {TOKENS['alice']}".encode())]

    async def ask() -> None:
        async def send(message: Any) -> None:
            statuses.append(message.get("status"))

        scope = {"type": "http", "method": "GET", "path": "/v1/x", "headers": headers}
        await gate(scope, _nothing, send)

    async def run() -> None:
        first = asyncio.create_task(ask())
        await begun.wait()
        await ask()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

    asyncio.run(run())
    assert statuses[0] == 503


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


def test_a_mistake_of_ours_is_told_without_its_text(tmp_path: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("hunter2")

    answer = gate_of(app, tmp_path).get("/v1/x")

    assert (answer.status_code, answer.json()["type"]) == (500, "urn:bifrost:problem:internal-error")
    assert "hunter2" not in answer.text


def test_a_certificate_of_the_connection_is_an_identity(tmp_path: Path) -> None:
    authority = Authority("CA")
    tls = {
        "certificate_file": "tls/server.pem",
        "key_file": "tls/server.key",
        "client_auth": "requested",
        "client_ca_file": "tls/ca.pem",
    }
    authority.server("localhost").write(tmp_path / "tls", "server")
    authority.write(tmp_path / "tls/ca.pem")
    admins = [{"name": "ci", "role": "operator", "certificate_principal": "CN=ci"}]
    api = Api(tmp_path, tls=tls, admins=admins)

    async def with_certificate(scope: Any, receive: Any, send: Any) -> None:
        scope.setdefault("extensions", {})[CERTIFICATE] = shown
        await api.gate(scope, receive, send)

    client = TestClient(with_certificate)
    shown: bytes | None = authority.client("ci").der
    assert client.post("/v1/namespaces", json={"name": "acme:a"}).status_code == 201
    assert client.get("/v1/namespaces/acme:a").json()["on_behalf_of"] == "Admin:ci"
    assert client.get("/v1/namespaces", headers={"Authorization": "Bearer wrong"}).status_code == 401
    for other in (authority.client("eve").der, b"none", None):
        shown = other
        assert client.get("/v1/namespaces").status_code == 401


def test_requests_are_counted_by_route_and_not_by_path(api: Api) -> None:
    for path in ("/v1/namespaces/acme", "/v1/namespaces/globex", "/nothing/at/all"):
        api.ask("GET", path)
    api.ask("GET", "/v1/namespaces", admin=None)

    text = api.ask("GET", "/metrics").text

    def total(route: str, status: int) -> str:
        return f'bifrost_control_requests_total{{method="GET",route="{route}",status="{status}"}}'

    assert f"{total('/v1/namespaces/{name}', 200)} 2.0" in text
    assert f"{total('other', 404)} 1.0" in text
    assert "at/all" not in text
    assert 'bifrost_control_refused_total{reason="unauthenticated"} 1.0' in text


def test_other_admins_and_bounds_are_for_the_next_request(api: Api, tmp_path: Path) -> None:
    assert api.ask("GET", "/v1/namespaces", admin="bob").status_code == 200
    settings = settings_with(tmp_path, admins=CONTROL["admins"][:1], max_requests_per_second=1)

    api.gate.change(settings, Access(settings))

    assert api.ask("GET", "/v1/namespaces", admin="bob").status_code == 401
    statuses = [api.ask("GET", "/v1/namespaces").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
