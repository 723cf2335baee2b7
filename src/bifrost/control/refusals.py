"""The problems of what the models refuse: namespaces, quotas, ACLs, and what is not as the caller has seen it."""

from collections.abc import Callable
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from bifrost.control.acls import AclRefused
from bifrost.control.configs.configs import ConfigRefused
from bifrost.control.etag import NotAsSeen
from bifrost.control.groups.groups import GroupRefused, NoSuchGroup
from bifrost.control.namespaces import TopicsRemain
from bifrost.control.problem import Problem, answer, not_found
from bifrost.control.quotas import QuotaRefused
from bifrost.control.shared_topics import NoSuchTopic
from bifrost.control.stored_aliases import TopicsElsewhere
from bifrost.control.topics.owned_topics import TopicRefused
from bifrost.tenancy.namespaces.alias_table import AliasRefused
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace
from bifrost.tenancy.namespaces.namespace_tree import NamespaceExists, NamespaceInUse, TooManyNamespaces
from bifrost.wire.error_codes import ErrorCode


def add_refusals(api: FastAPI) -> None:
    """Let the application answer these errors."""

    async def answer_refused(request: Request, error: Exception) -> JSONResponse:
        return await answer(request, _PROBLEMS[type(error)](error))

    for kind in _PROBLEMS:
        api.add_exception_handler(kind, answer_refused)


def _of_missing(error: Exception) -> Problem:
    status = HTTPStatus.NOT_FOUND if "does not exist" in str(error) else HTTPStatus.BAD_REQUEST
    return Problem(status, "invalid-namespace", str(error), "list the namespaces, or create this one first")


def _of_quota(error: Exception) -> Problem:
    assert isinstance(error, QuotaRefused)
    if error.error_code is ErrorCode.POLICY_VIOLATION:
        remedy = "stay within what the operator gives"
        return Problem(HTTPStatus.CONFLICT, "invalid-quota", str(error), remedy)
    return Problem(HTTPStatus.BAD_REQUEST, "invalid-quota", str(error), "correct the alteration")


def _of_acl(error: Exception) -> Problem:
    assert isinstance(error, AclRefused)
    if error.is_policy:
        remedy = "change fewer at once, or raise acls.max_stored"
        return Problem(HTTPStatus.CONFLICT, "invalid-acl", str(error), remedy)
    return Problem(HTTPStatus.BAD_REQUEST, "invalid-acl", str(error), "correct the ACL")


def _conflict(kind: str, remedy: str) -> Callable[[Exception], Problem]:
    return lambda error: Problem(HTTPStatus.CONFLICT, kind, str(error), remedy)


_PROBLEMS: dict[type[Exception], Callable[[Exception], Problem]] = {
    InvalidNamespace: _of_missing,
    NamespaceExists: _conflict("exists", "use it as it is, or delete it first"),
    NamespaceInUse: _conflict("in-use", "delete what is nested, or use recursive"),
    TooManyNamespaces: _conflict("too-many", "delete namespaces that are not needed"),
    TopicsRemain: _conflict("topics-remain", "correct what Kafka says, and delete it again"),
    TopicsElsewhere: _conflict("in-use", "move these topics elsewhere and end the shares first"),
    AliasRefused: _conflict("refused", "list the topics that were moved or are shared"),
    TopicRefused: _conflict("refused", "correct what the text says"),
    GroupRefused: _conflict("refused", "correct what the text says"),
    NoSuchGroup: lambda error: not_found(str(error)),
    NoSuchTopic: lambda error: not_found(str(error)),
    QuotaRefused: _of_quota,
    ConfigRefused: lambda error: Problem(
        HTTPStatus.BAD_REQUEST, "invalid-config", str(error), "correct the config: see docs/config-policy.md"
    ),
    AclRefused: _of_acl,
    NotAsSeen: lambda error: Problem(
        HTTPStatus.PRECONDITION_FAILED, "not-as-seen", str(error), "read them again, and decide anew"
    ),
}
