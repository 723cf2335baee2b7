"""The application: every resource, the errors of all, and the OpenAPI document."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from bifrost.config.model import Config
from bifrost.control.access import Access
from bifrost.control.acls import Acls
from bifrost.control.backend import Backend
from bifrost.control.configs.configs import Configs
from bifrost.control.counts import CONTENT_TYPE, Counts
from bifrost.control.gate import Gate, internal_error, too_large
from bifrost.control.groups.groups import Groups
from bifrost.control.namespaces import Namespaces
from bifrost.control.policies import Policies
from bifrost.control.problem import CHANGE_ERRORS, Mistake, Problem, answer, not_found
from bifrost.control.quotas import Quotas
from bifrost.control.refusals import add_refusals
from bifrost.control.resources import acls as acl_routes
from bifrost.control.resources import configs, groups, owned_topics, policies
from bifrost.control.resources import namespaces as namespace_routes
from bifrost.control.resources import quotas as quota_routes
from bifrost.control.resources import topics as topic_routes
from bifrost.control.resources.context import Context
from bifrost.control.shared_topics import SharedTopics
from bifrost.control.topics.owned_topics import OwnedTopics
from bifrost.tenancy.quotas.quotas_of_tenants import quotas_of

API_VERSION = "1.0.0"
"""The version of the API's own: its first number is in the paths, and changes when a client would break."""

OPENAPI_PATH = "/v1/openapi.json"

DESCRIPTION = (
    "Reads and changes what the gateways of a platform share. Every error is a problem document (RFC 9457)."
)
MAX_MISTAKES = 20
"""Mistakes of one request that are told."""


def build_application(config: Config, backend: Backend) -> Gate:
    """Return the application of a configuration that has the section `proxy.control`.

    Args:
        config: the configuration.
        backend: the state and the clusters.
    """
    settings = config.proxy.control
    assert settings is not None
    counts = Counts(backend)
    known = Namespaces(config, backend)
    ruled, defaults = Policies(config, backend, known), Configs(config, backend, known)
    context = Context(
        backend,
        counts,
        known,
        Quotas(backend, quotas_of(config.tenants)),
        Acls(backend, config.tenants),
        ruled,
        SharedTopics(config, backend, known),
        defaults,
        OwnedTopics(config, backend, known, ruled, defaults),
        Groups(config, backend, known),
    )
    api = build_api(context, settings.max_request_bytes)
    return Gate(api, settings, Access(settings), backend, counts)


def build_api(context: Context | None, max_request_bytes: int = 0) -> FastAPI:
    """Return the routes without what comes before them; without a context only for the OpenAPI document."""
    api = FastAPI(
        title="Bifrost control",
        version=API_VERSION,
        description=DESCRIPTION,
        openapi_url=OPENAPI_PATH,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    api.state.context = context
    api.include_router(namespace_routes.router)
    api.include_router(quota_routes.router)
    api.include_router(acl_routes.router)
    api.include_router(policies.router)
    api.include_router(topic_routes.router)
    api.include_router(configs.router)
    api.include_router(owned_topics.router)
    api.include_router(groups.router)
    _add_probes(api)
    _add_errors(api, max_request_bytes)
    _describe_security(api)
    return api


def _add_probes(api: FastAPI) -> None:
    @api.get("/healthz", include_in_schema=False)
    async def show_health() -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    @api.get("/readyz", include_in_schema=False)
    async def show_readiness(request: Request) -> PlainTextResponse:
        backend: Backend = request.app.state.context.backend
        if backend.is_current:
            return PlainTextResponse("ready\n")
        why = backend.problem or "it is being read"
        return PlainTextResponse(f"not ready: the state is not read: {why}\n", HTTPStatus.SERVICE_UNAVAILABLE)

    @api.get("/metrics", include_in_schema=False)
    async def show_metrics(request: Request) -> PlainTextResponse:
        counts: Counts = request.app.state.context.counts
        return PlainTextResponse(counts.exposition(), media_type=CONTENT_TYPE)


def _add_errors(api: FastAPI, max_request_bytes: int) -> None:
    async def answer_invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        # Without the value: a mistyped request may have a secret at a wrong place.
        found = [
            Mistake(where=".".join(map(str, one["loc"])), what=one["msg"])
            for one in error.errors()[:MAX_MISTAKES]
        ]
        detail = "; ".join(f"{one.where}: {one.what}" for one in found)
        return await answer(request, _invalid(detail, found))

    async def answer_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        match error.status_code:
            case HTTPStatus.NOT_FOUND:
                problem = not_found(f"the path {request.url.path}")
            case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                problem = too_large(max_request_bytes)
            case _:
                status = HTTPStatus(error.status_code)
                kind = status.phrase.lower().replace(" ", "-")
                problem = Problem(
                    status,
                    kind,
                    str(error.detail),
                    f"{OPENAPI_PATH} has every operation",
                    headers=error.headers,
                )
        return await answer(request, problem)

    async def answer_internal(request: Request, _error: Exception) -> JSONResponse:
        return await answer(request, internal_error())

    api.add_exception_handler(RequestValidationError, answer_invalid)
    api.add_exception_handler(HTTPException, answer_http)
    for kind in (Problem, *CHANGE_ERRORS):
        api.add_exception_handler(kind, answer)
    add_refusals(api)
    api.add_exception_handler(Exception, answer_internal)  # The gate logs it.


def _invalid(detail: str, mistakes: list[Mistake]) -> Problem:
    return Problem(
        HTTPStatus.BAD_REQUEST,
        "invalid-request",
        detail,
        f"correct the request; {OPENAPI_PATH} has every operation",
        mistakes=mistakes,
    )


def _describe_security(api: FastAPI) -> None:
    """Add to the OpenAPI document how admins prove who they are, which `Gate` checks for all paths."""
    make = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            made = make()
            made.setdefault("components", {})["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer"},
                "certificate": {"type": "mutualTLS"},
            }
            made["security"] = [{"token": []}, {"certificate": []}]
            for operations in made["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)  # It is 400 here.
            for unused in ("HTTPValidationError", "ValidationError"):
                made["components"].get("schemas", {}).pop(unused, None)
            api.openapi_schema = made
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]
