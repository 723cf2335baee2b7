"""What a decision costs by how much there is in the state: of names, aliases and ACLs, all of one tenant."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import NamedTuple

from bench.state_scale.state_log import Size, acl, home, log_records, target, tenant, tiers, user
from bifrost.config.name_template import NamePrefixes, NameTemplate
from bifrost.state.state_table import StateLimits, StateTable
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import StoredAcls
from bifrost.tenancy.names import TenantNames, VirtualTopic
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases

ASKED = 2_000
"""Questions in a round, about names that are spread over all that there are: of a large state no cache of the processor
has them all, and of a small one it has."""
AGAIN = 200
"""Different names in a round of questions about the same ones: as many in any state, so only what is looked at counts,
not where the processor finds it."""
BOUNDLESS = 2**40


class Cost(NamedTuple):
    """What a question costs."""

    calls: float
    """Functions that are called."""
    again_us: float
    """Microseconds, about the same names again."""
    other_us: float
    """Microseconds, about ever other names."""


class Decisions:
    """The models of a process that has read a state, and what they are asked."""

    def __init__(self, size: Size) -> None:
        """Take the state of one tenant."""
        assert size.tenants == 1
        self._size, self._tenant = size, tenant(0)
        table = StateTable(StateLimits(BOUNDLESS, BOUNDLESS, BOUNDLESS))
        acls, namespaces, aliases = StoredAcls(), ExistingNamespaces(), TopicAliases()
        aliases.configure(
            {self._tenant: TenantPlace("one", NamePrefixes.of_tenant(self._tenant, NameTemplate()).topic)}
        )
        models = {"acl": acls.apply, "namespace": namespaces.apply, "alias": aliases.apply}
        for one in log_records(size):
            for key in table.apply([one])[0]:
                if key.kind in models:
                    models[key.kind](key, table.get(key))
        self._authority = Authority(self._tenant, acls)
        self._names = TenantNames(
            self._tenant, namespaces=namespaces.of(self._tenant), aliases=aliases.parts, sees_shared=True
        )

    def all(self) -> Iterator[tuple[str, Cost]]:
        """Yield what is decided, and what one costs."""
        size, steps = self._size, range(ASKED)
        acls = [acl(one * 7919 % size.acls) for one in steps]
        yield (
            "an ACL: may a principal do this?",
            _cost(
                lambda number: self._authority.permitted(
                    acls[number].resource_type, acls[number].name, user(number), "10.0.0.1"
                )
            ),
        )
        below = [tiers(one * 7919 % size.namespaces) for one in steps]
        names = [VirtualTopic(":".join((*one, f"orders-{n}")).encode()) for n, one in enumerate(below)]
        yield (
            "a name in a namespace below",
            _cost(lambda number: self._names.physical_topic(names[number])),
        )
        places = [
            target(self._tenant, one * 7919 % size.aliases // 2 * 2 + 1, size.namespaces) for one in steps
        ]
        moved = [VirtualTopic(one.full_name.encode()) for one in places]
        yield "a topic that was moved", _cost(lambda number: self._names.physical_topic(moved[number]))
        physical = [self._names.physical_topic(one) for one in moved]
        yield (
            "the same from its physical name",
            _cost(lambda number: self._names.virtual_topic(physical[number])),
        )
        homes = [home(self._tenant, one * 7919 % size.aliases, size.namespaces) for one in steps]
        plain = [VirtualTopic(f"{one.full_name}-x".encode()) for one in homes]
        yield "a topic that was not", _cost(lambda number: self._names.physical_topic(plain[number]))


def _cost(ask: Callable[[int], object]) -> Cost:
    for number in range(AGAIN):
        ask(number)
    began_s = perf_counter()
    for _ in range(ASKED // AGAIN):
        for number in range(AGAIN):
            ask(number)
    again_s = perf_counter()
    for number in range(ASKED):
        ask(number)
    end_s = perf_counter()
    return Cost(_calls(ask), (again_s - began_s) * 1e6 / ASKED, (end_s - again_s) * 1e6 / ASKED)


def _calls(ask: Callable[[int], object]) -> float:
    """Return how many functions a question calls, of Python and of C: a busy machine does not change that."""
    counted: Counter[str] = Counter()
    sys.setprofile(lambda _frame, event, _argument: counted.update((event,)))
    for number in range(AGAIN):
        ask(number)
    sys.setprofile(None)
    return (counted["call"] + counted["c_call"]) / AGAIN
