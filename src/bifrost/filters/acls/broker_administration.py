"""DescribeAcls, CreateAcls and DeleteAcls for a tenant whose ACLs the brokers keep.

The gateway asks the client's broker with the client's own account, so the broker decides whether it may: that needs
ALTER or DESCRIBE on the cluster there. What the account could do with it alone, the gateway confines to the tenant:
each ACL is one of an account of the tenant's users, about names of the tenant (`tenancy.acls.translated_acls`).

The brokers have no bound for ACLs, so the gateway counts the tenant's before it lets a client create some: again after
as many creations as a request may have, for other gateways and the operator create some too.

The broker's texts are not told: they have physical names and accounts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bifrost.filters.acls.acl_messages import created, filter_of, listed, match_of
from bifrost.filters.acls.denial import refuse
from bifrost.filters.filter import Exchange
from bifrost.filters.steps import AclsAtBroker, Answer, RequestStep
from bifrost.tenancy.acls.acl_binding import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from bifrost.tenancy.acls.acl_change import MAX_CHANGED, TOO_MANY
from bifrost.tenancy.acls.broker_authority import BrokerAuthority
from bifrost.tenancy.acls.translated_acls import CannotTranslate, TranslatedAcls
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from bifrost.wire.steps import in_steps

_UNKNOWN = "The AclBindingFilter must not contain UNKNOWN elements."
_STEPS_OF_ACL = 4
"""Reading and translating an ACL takes as long as so many rounds of another loop."""

_REFUSED_THERE = "The broker answers {}"


@dataclass(slots=True)
class _Plan:
    """The answer to a request, as far as it is known before the broker is asked."""

    answer: Any
    asked: list[Any] = field(default_factory=list)
    """The results that wait for the broker's: by the items of the request that it gets, in their order."""
    has_no_room: bool = False
    """Whether the tenant would have too many ACLs with all of the request."""


@dataclass(slots=True)
class _Counting:
    """The brokers are asked how many ACLs of the tenant they keep."""

    created_before: int


def step(
    exchange: Exchange, translated: TranslatedAcls, authority: BrokerAuthority, request: Message
) -> RequestStep:
    """Ask the broker, or answer by what it has answered."""
    need = exchange.met.get(AclsAtBroker)
    match request:
        case DescribeAclsRequest():
            return _describe(exchange, translated, request, need)
        case CreateAclsRequest():
            return _create(exchange, translated, authority, request, need)
        case _:
            return _delete(exchange, translated, request, need)


def _describe(exchange: Exchange, translated: TranslatedAcls, request: Any, need: Any) -> RequestStep:
    wanted = filter_of(request, exchange.api_version)
    if wanted is None:
        return refuse(exchange, request, ErrorCode.INVALID_REQUEST, _UNKNOWN)
    if need is None:
        asked = tuple(_described(one) for one in translated.to_describe(wanted))
        return AclsAtBroker(asked) if asked else Answer(listed(()))
    found = _found(translated, need.answers)
    if isinstance(found, ErrorCode):
        return Answer(DescribeAclsResponse(error_code=found, error_message=_text(found)))
    return Answer(listed(one for one in in_steps(found) if wanted.matches(one)))


def _found(translated: TranslatedAcls, answers: Iterable[Any]) -> dict[AclBinding, None] | ErrorCode:
    """Return the ACLs of the tenant that brokers have told, or the error of one."""
    found: dict[AclBinding, None] = {}
    for answer in answers:
        if answer.error_code != ErrorCode.NONE:
            return ErrorCode(answer.error_code)
        for resource in in_steps(answer.resources):
            for each in in_steps(resource.acls, _STEPS_OF_ACL):
                binding = _binding(resource, each)
                one = None if binding is None else translated.virtual(binding)
                if one is not None:
                    found[one] = None
    return found


def _create(
    exchange: Exchange, translated: TranslatedAcls, authority: BrokerAuthority, request: Any, need: Any
) -> RequestStep:
    known: dict[AclBinding, None] = {}
    if need is not None and isinstance(need.plan, _Counting):
        found = _found(translated, need.answers)
        if isinstance(found, ErrorCode):
            # A broker that does not list ACLs for the account lets it create none: ALTER implies DESCRIBE.
            return refuse(exchange, request, found, _text(found))
        known = found
        authority.count(len(known), need.plan.created_before)
    elif need is not None:
        plan = need.plan
        for result, told in zip(plan.asked, need.answers[0].results, strict=True):
            _copy_error(result, told)
        return Answer(plan.answer)
    plan, creations, new = _Plan(CreateAclsResponse()), list[Any](), 0
    for item in in_steps(request.creations):
        result = CreateAclsResponse.AclCreationResult(error_message=None)
        plan.answer.results.append(result)
        binding, problem = created(item, exchange.api_version)
        if len(creations) >= MAX_CHANGED:
            result.error_code, result.error_message = ErrorCode.POLICY_VIOLATION, TOO_MANY
            continue
        if binding is not None:
            try:
                creation = _creation(translated.physical(binding))
                if binding not in known and (authority.kept or 0) + new >= authority.max_stored:
                    problem = f"A tenant may have at most {authority.max_stored} ACLs."
                    result.error_code, result.error_message = ErrorCode.POLICY_VIOLATION, problem
                    plan.has_no_room = True
                    continue
                creations.append(creation)
                plan.asked.append(result)
                new += binding not in known
                continue
            except CannotTranslate as error:
                problem = str(error)
        result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, problem
    if need is None and (creations or plan.has_no_room) and _is_due(authority, plan):
        everything = translated.to_describe(AclBindingFilter())
        return AclsAtBroker(tuple(map(_described, everything)), _Counting(authority.created))
    if not creations:
        return Answer(plan.answer)
    authority.create(new)
    return AclsAtBroker((CreateAclsRequest(creations=creations),), plan)


def _is_due(authority: BrokerAuthority, plan: _Plan) -> bool:
    """Whether the ACLs at the brokers have to be counted before more are created."""
    is_old = authority.created - authority.counted_at >= MAX_CHANGED
    return authority.kept is None or plan.has_no_room or is_old


def _delete(exchange: Exchange, translated: TranslatedAcls, request: Any, need: Any) -> RequestStep:
    if need is not None:
        plan = need.plan
        for result, told in zip(plan.asked, need.answers[0].filter_results, strict=True):
            if told.error_code:
                _copy_error(result, told)
            result.matching_acls += _matches(translated, told)
        return Answer(plan.answer)
    plan, filters = _Plan(DeleteAclsResponse()), list[Any]()
    for item in in_steps(request.filters):
        result = DeleteAclsResponse.DeleteAclsFilterResult(error_message=None)
        plan.answer.filter_results.append(result)
        wanted = filter_of(item, exchange.api_version)
        if len(filters) >= MAX_CHANGED:
            result.error_code, result.error_message = ErrorCode.POLICY_VIOLATION, TOO_MANY
            continue
        try:
            some = [] if wanted is None else list(translated.to_delete(wanted))
        except CannotTranslate as error:
            result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, str(error)
            continue
        if wanted is None:
            result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, _UNKNOWN
        elif len(filters) + len(some) > MAX_CHANGED:
            result.error_code, result.error_message = ErrorCode.POLICY_VIOLATION, TOO_MANY
        else:
            filters += map(_deletion, some)
            plan.asked += [result] * len(some)
    if not filters:
        return Answer(plan.answer)
    return AclsAtBroker((DeleteAclsRequest(filters=filters),), plan)


def _matches(translated: TranslatedAcls, told: Any) -> list[Any]:
    """Return what was deleted as the tenant knows it."""
    found = []
    for one in in_steps(told.matching_acls):
        told_of = _binding(one, one)
        binding = None if told_of is None else translated.virtual(told_of)
        if binding is not None:
            match = match_of(binding)
            _copy_error(match, one)
            found.append(match)
    return found


def _copy_error(result: Any, told: Any) -> None:
    result.error_code = told.error_code
    result.error_message = _text(ErrorCode(told.error_code)) if told.error_code else None


def _text(error: ErrorCode) -> str:
    return _REFUSED_THERE.format(error.name)


def _described(one: AclBindingFilter) -> DescribeAclsRequest:
    return DescribeAclsRequest(**_fields(one))


def _deletion(one: AclBindingFilter) -> Any:
    return DeleteAclsRequest.DeleteAclsFilter(**_fields(one))


def _fields(one: AclBindingFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": int(one.resource_type),
        "resource_name_filter": one.name,
        "pattern_type_filter": int(one.pattern_type),
        "principal_filter": one.principal,
        "host_filter": one.host,
        "operation": int(one.operation),
        "permission_type": int(one.permission),
    }


def _creation(one: AclBinding) -> Any:
    return CreateAclsRequest.AclCreation(
        resource_type=int(one.resource_type),
        resource_name=one.name,
        resource_pattern_type=int(one.pattern_type),
        principal=one.principal,
        host=one.host,
        operation=int(one.operation),
        permission_type=int(one.permission),
    )


def _binding(resource: Any, one: Any) -> AclBinding | None:
    """Return an ACL that a broker tells; None: it is of a kind that no tenant has, such as one of a token."""
    try:
        return AclBinding(
            ResourceType(resource.resource_type),
            PatternType(resource.pattern_type),
            resource.resource_name,
            one.principal,
            one.host,
            Operation(one.operation),
            Permission(one.permission_type),
        )
    except ValueError:
        return None
