"""What a decision costs by how much there is in the state: of names, aliases and ACLs, all of one tenant."""

from collections.abc import Callable, Iterator
from time import perf_counter

from bench.state_scale.state_log import Size, acl, home, log_records, target, tenant, tiers, user
from bifrost.config.name_template import NamePrefixes, NameTemplate
from bifrost.state.state_table import StateLimits, StateTable
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import StoredAcls
from bifrost.tenancy.names import TenantNames, VirtualTopic
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases

ASKED = 2_000
"""Different names in a round, spread over all that there are, so that no cache of the processor has them all."""
BOUNDLESS = 2**40


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

    def all(self) -> Iterator[tuple[str, float]]:
        """Yield what is decided, and how long one takes in microseconds."""
        size, steps = self._size, range(ASKED)
        acls = [acl(one * 7919 % size.acls) for one in steps]
        yield (
            "an ACL: may a principal do this?",
            _each_us(
                lambda number: self._authority.permitted(
                    acls[number].resource_type, acls[number].name, user(number), "10.0.0.1"
                )
            ),
        )
        below = [tiers(one * 7919 % size.namespaces) for one in steps]
        names = [VirtualTopic(":".join((*one, f"orders-{n}")).encode()) for n, one in enumerate(below)]
        yield (
            "a name in a namespace below",
            _each_us(lambda number: self._names.physical_topic(names[number])),
        )
        places = [
            target(self._tenant, one * 7919 % size.aliases // 2 * 2 + 1, size.namespaces) for one in steps
        ]
        moved = [VirtualTopic(one.full_name.encode()) for one in places]
        yield "a topic that was moved", _each_us(lambda number: self._names.physical_topic(moved[number]))
        physical = [self._names.physical_topic(one) for one in moved]
        yield (
            "the same from its physical name",
            _each_us(lambda number: self._names.virtual_topic(physical[number])),
        )
        homes = [home(self._tenant, one * 7919 % size.aliases, size.namespaces) for one in steps]
        plain = [VirtualTopic(f"{one.full_name}-x".encode()) for one in homes]
        yield "a topic that was not", _each_us(lambda number: self._names.physical_topic(plain[number]))


def _each_us(ask: Callable[[int], object]) -> float:
    began_s = perf_counter()
    for number in range(ASKED):
        ask(number)
    return (perf_counter() - began_s) * 1e6 / ASKED
