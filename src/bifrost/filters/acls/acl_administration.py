"""DescribeAcls, CreateAcls and DeleteAcls for a tenant: its ACLs in the configuration, and those in the state.

To see them needs DESCRIBE on the tenant's cluster, to change them ALTER. A change is written to the state that all
gateways share, all of a request in one transaction. ACLs of the configuration cannot be deleted by a request.

Source: AclApis, AclControlManager; KIP-140.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls import broker_administration
from bifrost.filters.acls.acl_messages import created, filter_of, listed, match_of
from bifrost.filters.acls.denial import guard_of, refuse
from bifrost.filters.filter import Exchange
from bifrost.filters.refused import REFUSED
from bifrost.filters.steps import MAX_ATTEMPTS, Answer, RequestStep, ResponseStep, StateChange
from bifrost.state.state_change import Change
from bifrost.state.state_outcome import OFF, OutcomeKind, StateOutcome
from bifrost.tenancy.acls.acl_binding import (
    AclBinding,
    Operation,
)
from bifrost.tenancy.acls.acl_change import (
    CONFIGURED,
    MAX_CHANGED,
    MAX_COMPARED,
    MAX_TOLD,
    TOO_MANY,
    TOO_MUCH_WORK,
    deletion_of,
    refuse_creation,
)
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.broker_authority import BrokerAuthority
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.acls.stored_acls import creation_of
from bifrost.tenancy.acls.translated_acls import TranslatedAcls
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import CreateAclsResponse, DeleteAclsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

_UNKNOWN = "The AclBindingFilter must not contain UNKNOWN elements."


class _AdministrationFilter:
    """What the three have in common: they are answered here, by the client's right on the cluster."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def on_request(self, exchange: Exchange, request: Any) -> RequestStep:
        """Answer the request, or have its change written first."""
        guard = guard_of(exchange)
        if isinstance(guard.authority, BrokerAuthority):
            return self._at_brokers(exchange, guard, guard.authority, request)
        if guard.authority.is_open:
            return Answer(REFUSED[ApiKey(exchange.api_key)](request))
        # Clients of a namespace below the tenant have names that are not those of its ACLs.
        if guard.namespace.names.tiers or not guard.may_cluster(self._operation):
            guard.deny(self._operation)
            return refuse(exchange, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return self._permitted(exchange, guard, request)

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Never called: no request goes to the broker."""
        raise AssertionError("no request of this API goes to the broker")

    def _permitted(self, exchange: Exchange, guard: Guard, request: Any) -> RequestStep:
        raise NotImplementedError

    def _at_brokers(
        self, exchange: Exchange, guard: Guard, authority: BrokerAuthority, request: Any
    ) -> RequestStep:
        """Let the brokers decide, and keep the ACLs; they know a user by its account alone."""
        user = guard.principal.removeprefix("User:")
        if guard.namespace.names.tiers or user not in authority.accounts:
            guard.deny(self._operation)
            return refuse(exchange, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        translated = TranslatedAcls(guard.namespace.names, authority.accounts)
        return broker_administration.step(exchange, translated, authority, request)


class DescribeAclsFilter(_AdministrationFilter):
    """Lists the tenant's ACLs that a filter means."""

    def __init__(self) -> None:
        """Need DESCRIBE on the cluster."""
        super().__init__(Operation.DESCRIBE)

    def _permitted(self, exchange: Exchange, guard: Guard, request: DescribeAclsRequest) -> RequestStep:
        wanted = filter_of(request, exchange.api_version)
        if wanted is None:
            return refuse(exchange, request, ErrorCode.INVALID_REQUEST, _UNKNOWN)
        return Answer(listed(guard.authority.find(wanted)))


@dataclass(slots=True)
class _Plan:
    """What a request changes, and the answer to it if that succeeds."""

    answer: Message
    changes: list[Change] = field(default_factory=list)
    changed: list[Any] = field(default_factory=list)
    """The results in the answer that are about what is changed."""

    def settle(self, outcome: StateOutcome) -> Answer:
        """Return the answer, with an error for each item that was not changed."""
        if not outcome.is_done:
            for result in in_steps(self.changed):
                result.error_code, result.error_message = outcome.error_code, outcome.message
        return Answer(self.answer)


class _ChangeFilter(_AdministrationFilter):
    """A request that changes ACLs."""

    def __init__(self) -> None:
        """Need ALTER on the cluster."""
        super().__init__(Operation.ALTER)

    def _permitted(self, exchange: Exchange, guard: Guard, request: Any) -> RequestStep:
        tried, attempt = exchange.state_change, 1
        if tried is not None:
            assert tried.outcome is not None, "the change was tried"
            is_first = tried.outcome.kind is not OutcomeKind.CONFLICT
            if is_first or tried.attempt >= MAX_ATTEMPTS:
                plan: _Plan = tried.plan
                return plan.settle(tried.outcome)
            attempt = tried.attempt + 1
        plan = self._plan(exchange, guard.authority, request)
        if not plan.changes:
            return Answer(plan.answer)
        if exchange.scope.state is None:
            return plan.settle(OFF)
        return StateChange(tuple(plan.changes), guard.principal, plan=plan, attempt=attempt)

    def _plan(self, exchange: Exchange, authority: Authority, request: Any) -> _Plan:
        raise NotImplementedError


class CreateAclsFilter(_ChangeFilter):
    """Creates ACLs; one that is there already is no error."""

    def _plan(self, exchange: Exchange, authority: Authority, request: CreateAclsRequest) -> _Plan:
        answer = CreateAclsResponse()
        plan, seen = _Plan(answer), set[AclBinding]()
        for creation in in_steps(request.creations):
            binding, problem = created(creation, exchange.api_version)
            result = CreateAclsResponse.AclCreationResult(error_message=None)
            answer.results.append(result)
            if binding is None:
                result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, problem
            elif binding not in seen and not authority.has(binding):
                refused = refuse_creation(authority, len(plan.changes))
                if refused is not None:
                    result.error_code, result.error_message = ErrorCode.POLICY_VIOLATION, refused
                else:
                    seen.add(binding)
                    plan.changes.append(creation_of(authority.tenant, binding))
                    plan.changed.append(result)
            elif binding in seen:
                plan.changed.append(result)
        return plan


class DeleteAclsFilter(_ChangeFilter):
    """Deletes the ACLs that filters mean."""

    def _plan(self, exchange: Exchange, authority: Authority, request: DeleteAclsRequest) -> _Plan:
        answer = DeleteAclsResponse()
        plan, seen, compared, told = _Plan(answer), set[AclBinding](), 0, 0
        for one in in_steps(request.filters):
            result = DeleteAclsResponse.DeleteAclsFilterResult(error_message=None)
            answer.filter_results.append(result)
            wanted = filter_of(one, exchange.api_version)
            if wanted is None:
                result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, _UNKNOWN
                continue
            compared += authority.compared(wanted)
            found = [] if compared > MAX_COMPARED else list(in_steps(authority.find(wanted)))
            if compared > MAX_COMPARED or told + len(found) > MAX_TOLD:
                result.error_code, result.error_message = ErrorCode.POLICY_VIOLATION, TOO_MUCH_WORK
                continue
            if len(seen) + sum(binding not in seen for binding in found) > MAX_CHANGED:
                result.error_code, result.error_message = ErrorCode.POLICY_VIOLATION, TOO_MANY
                continue
            told += len(found)
            self._delete(exchange, authority, found, plan, seen, result)
        return plan

    def _delete(
        self,
        exchange: Exchange,
        authority: Authority,
        found: Sequence[AclBinding],
        plan: _Plan,
        seen: set[AclBinding],
        result: Any,
    ) -> None:
        table = exchange.scope.state
        for binding in in_steps(found):
            match = match_of(binding)
            result.matching_acls.append(match)
            if authority.is_configured(binding):
                match.error_code, match.error_message = ErrorCode.POLICY_VIOLATION, CONFIGURED
                continue
            plan.changed.append(match)
            if binding not in seen and table is not None:
                seen.add(binding)
                change = deletion_of(table, authority.tenant, binding)
                if change is not None:
                    plan.changes.append(change)
