"""Errors of the API: problem documents (RFC 9457), which say what happened, where, and how to mend it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.requests import Request

from bifrost.control.backend import OutcomeUnknown, Unavailable
from bifrost.state.state_change import StateConflict
from bifrost.state.state_record import TooLarge

CONTENT_TYPE = "application/problem+json"
TYPE = "urn:bifrost:problem:"
"""What a type begins with; its word follows."""


class FoundVersion(BaseModel):
    """A key that is not as the caller has seen it."""

    key: str = Field(description="The key of the state, `kind:name`.")
    expected: int = Field(description="The version that the caller has seen; 0: nothing was stored.")
    found: int = Field(description="The version that is stored; 0: nothing is.")
    on_behalf_of: str | None = Field(description="Who asked for what is stored.")


class Mistake(BaseModel):
    """A value of a request that is not as it should be."""

    where: str = Field(description="The place of the value, such as `body.name`.")
    what: str = Field(description="What is wrong with it.")


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(description="The kind of error; it does not change between versions.")
    title: str = Field(description="The kind of error in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened.")
    instance: str = Field(description="The path of the request.")
    remedy: str | None = Field(default=None, description="How to mend it.")
    conflict: FoundVersion | None = Field(
        default=None, description="What is stored instead, with status 409 and 412."
    )
    mistakes: list[Mistake] | None = Field(
        default=None, description="What is wrong in the request, with status 400."
    )


class Problem(Exception):
    """An error that the caller is told."""

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        remedy: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        **extensions: Any,
    ) -> None:
        """Describe the error.

        Args:
            status: the HTTP status.
            kind: the last word of its type, such as `conflict`.
            detail: what happened.
            remedy: how to mend it.
            headers: further headers of the answer.
            extensions: further fields of the document, `conflict` and `mistakes`.
        """
        super().__init__(detail)
        self.status, self.kind, self.detail, self.remedy = status, kind, detail, remedy
        self.headers, self.extensions = headers, extensions

    def document(self, instance: str) -> dict[str, Any]:
        """Return the document, for a request of the path `instance`."""
        made = ProblemDocument(
            type=TYPE + self.kind,
            title=self.kind.replace("-", " "),
            status=self.status,
            detail=self.detail,
            instance=instance,
            remedy=self.remedy,
            **self.extensions,
        )
        return made.model_dump(exclude_none=True)

    def response(self, instance: str) -> JSONResponse:
        """Return the answer to a request of the path `instance`."""
        return JSONResponse(
            self.document(instance), self.status, dict(self.headers or {}), media_type=CONTENT_TYPE
        )


def not_found(what: str) -> Problem:
    """Return the problem of something that does not exist."""
    return Problem(
        HTTPStatus.NOT_FOUND, "not-found", f"{what} does not exist", "check the name, or create it first"
    )


def problem_of(error: Exception) -> Problem:
    """Return the problem of an error that a change of the state raises."""
    match error:
        case StateConflict():
            found = FoundVersion(
                key=str(error.key),
                expected=error.expected,
                found=error.found,
                on_behalf_of=error.on_behalf_of,
            )
            return Problem(
                HTTPStatus.CONFLICT, "conflict", str(error), "read it again, and decide anew", conflict=found
            )
        case TooLarge():
            return Problem(
                HTTPStatus.INSUFFICIENT_STORAGE,
                "no-room",
                str(error),
                "delete what is not needed, or raise the limit of proxy.state at all gateways",
            )
        case OutcomeUnknown():
            return Problem(
                HTTPStatus.GATEWAY_TIMEOUT,
                "outcome-unknown",
                str(error),
                "read it again: the change was made, or it was not",
            )
        case Unavailable():
            return Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "unavailable",
                str(error),
                "nothing was changed: try again when the brokers answer",
                headers={"Retry-After": "5"},
            )
    raise AssertionError(f"not an error of a change: {type(error).__name__}")


async def answer(request: Request, error: Exception) -> JSONResponse:
    """Answer a request with a problem, or with an error that a change of the state raises."""
    problem = error if isinstance(error, Problem) else problem_of(error)
    return problem.response(request.url.path)


CHANGE_ERRORS = (StateConflict, TooLarge, Unavailable, OutcomeUnknown)
"""What `Backend.change` raises."""
