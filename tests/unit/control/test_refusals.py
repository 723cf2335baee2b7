"""Which problem each refusal is; tests/unit/control/resources has the requests that are refused."""

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from bifrost.control.acls import AclRefused
from bifrost.control.etag import NotAsSeen
from bifrost.control.namespaces import TopicsRemain
from bifrost.control.quotas import QuotaRefused
from bifrost.control.refusals import add_refusals
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, read_path
from bifrost.tenancy.namespaces.namespace_tree import NamespaceExists, NamespaceInUse, TooManyNamespaces
from bifrost.wire.error_codes import ErrorCode

PATH = read_path("acme:eu")


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InvalidNamespace("namespace acme:eu does not exist"), 404, "invalid-namespace"),
        (InvalidNamespace("no path"), 400, "invalid-namespace"),
        (NamespaceExists(PATH), 409, "exists"),
        (NamespaceInUse(PATH, (), "why"), 409, "in-use"),
        (TooManyNamespaces("why"), 409, "too-many"),
        (TopicsRemain({"t": "E"}), 409, "topics-remain"),
        (QuotaRefused(0, ErrorCode.INVALID_REQUEST, "why"), 400, "invalid-quota"),
        (QuotaRefused(0, ErrorCode.POLICY_VIOLATION, "why"), 409, "invalid-quota"),
        (AclRefused(0, "why", is_policy=False), 400, "invalid-acl"),
        (AclRefused(0, "why", is_policy=True), 409, "invalid-acl"),
        (NotAsSeen("the ACLs of acme"), 412, "not-as-seen"),
    ],
)
def test_a_refusal_is_a_problem(error: Exception, status: int, kind: str) -> None:
    api = FastAPI()
    add_refusals(api)

    @api.get("/")
    async def refuse() -> None:
        raise error

    answer = TestClient(api).get("/")

    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:bifrost:problem:{kind}")
    assert str(error) == answer.json()["detail"]
    assert answer.json()["remedy"]
