from http import HTTPStatus

import pytest

from bifrost.control.application import build_api
from openapi_page import DOCUMENT, main, text
from support.control.table_backend import Api


def test_the_committed_document_is_what_the_application_serves(api: Api) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == text(), "run .venv/bin/python tools/openapi_page.py"
    assert api.ask("GET", "/v1/openapi.json", admin=None).json() == build_api(None).openapi()
    assert main(["--check"]) == 0


def test_every_operation_needs_an_identity_and_tells_its_errors() -> None:
    document = build_api(None).openapi()

    assert document["security"] == [{"token": []}, {"certificate": []}]
    assert document["info"]["version"].startswith("1.")
    for path, operations in document["paths"].items():
        assert path.startswith("/v1/")
        for operation in operations.values():
            assert operation["operationId"]
            assert operation["description"]
            assert {"400", "401", "403", "429", "503"} <= operation["responses"].keys()
            assert "422" not in operation["responses"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nothing", 404), ("GET", "/v2/namespaces", 404), ("PATCH", "/v1/namespaces", 405)],
)
def test_what_is_not_there_is_a_problem(api: Api, method: str, path: str, status: int) -> None:
    answer = api.ask(method, path)

    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["instance"] == path
    assert answer.json()["title"] == HTTPStatus(status).phrase.lower()


def test_a_body_that_is_no_json_is_a_problem(api: Api) -> None:
    headers = {**api.ask("GET", "/v1/namespaces").request.headers, "Content-Type": "application/json"}

    answer = api.client.post("/v1/namespaces", content=b"{", headers=headers)

    assert (answer.status_code, answer.json()["type"]) == (400, "urn:bifrost:problem:invalid-request")
