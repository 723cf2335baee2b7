"""What the topics that one namespace's clients name inherit, and what has to be remembered when they set configs."""

from collections.abc import Iterable, Mapping

from bifrost.config.policies.config_value import canonical
from bifrost.state.state_change import Change
from bifrost.state.state_table import StateTable
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.topic_configs.config_records import topic_body, topic_key
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs


class NamespaceDefaults:
    """The configs of namespaces, asked with the names that the clients of a namespace use."""

    __slots__ = ("_configs", "_names")

    def __init__(self, names: TenantNames, configs: NamespaceConfigs) -> None:
        """Ask `configs` about names of `names`."""
        self._names, self._configs = names, configs

    def inherited(self, topic: str) -> dict[str, str]:
        """Return what a topic inherits, by name."""
        if not self._may_inherit(topic):
            return {}
        path, _ = self._place(topic)
        return {name: value for name, (value, _) in self._configs.inherited(path).items()}

    def inherits(self, topic: str, name: str, value: str | None) -> bool:
        """Whether a topic that has this value at the brokers inherits it."""
        if value is None or not self._may_inherit(topic):
            return False
        path, own = self._place(topic)
        return self._configs.inherits(path, own, name, value)

    def remember(
        self, state: StateTable, topic: str, given: Mapping[str, str], without: Iterable[str] | None = None
    ) -> Change | None:
        """Return the change that remembers which values of a topic are its own; None: nothing is to be remembered.

        Args:
            state: what is stored.
            topic: its name.
            given: what a client sets, by name.
            without: the configs that a client takes back; None: all that are not given, as for a new topic.
        """
        if not self._may_inherit(topic):
            return None
        path, own = self._place(topic)
        before = self._configs.own(path, own)
        forgotten = set(before) if without is None else set(without)
        after = {name: value for name, value in before.items() if name not in forgotten}
        for name, value in given.items():
            told = _told(name, value)
            after.pop(name, None)
            if self._configs.could_inherit(path, name, told):
                after[name] = told
        if after == before:
            return None
        key = topic_key(path, own)
        record = state.get(key)
        version = 0 if record is None else record.version
        if not after and not version:
            return None
        return Change(key, version, topic_body(after) if after else None)

    @property
    def remembered(self) -> int:
        """Of how many topics of the tenant something is remembered."""
        return self._configs.count_own(self._names.tenant)

    def _may_inherit(self, topic: str) -> bool:
        """Whether a topic could inherit something here: what is shared with the namespace follows its owner's."""
        return bool(self._configs) and self._names.access(topic) is None

    def _place(self, topic: str) -> tuple[Path, str]:
        path, own = self._names.place_of(topic.encode())
        return Path(path), own.decode()


def _told(name: str, value: str) -> str:
    """Return a value as a broker tells it; one that is none stays, and the broker refuses it."""
    try:
        return canonical(name, value)
    except ValueError:
        return value
