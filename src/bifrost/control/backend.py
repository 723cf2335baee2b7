"""What the API needs of the physical clusters: the state, its writer, and topics. The command line makes it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from bifrost.control.clusters.group_state import GroupState, ListedGroup, TopicPartition
from bifrost.control.clusters.topic_state import TopicState
from bifrost.state.state_change import Change, Dependents, Unchanged
from bifrost.state.state_table import StateTable


class Unavailable(Exception):
    """The brokers do not answer, or refuse; nothing was changed. The text says which and why."""


class OutcomeUnknown(Exception):
    """The brokers do not say whether the change was made; the state will show it."""


class Backend(Protocol):
    """The physical clusters, as far as the API reads and changes them."""

    @property
    def table(self) -> StateTable:
        """The state as it was read last; it is watched all the time."""

    @property
    def is_current(self) -> bool:
        """Whether the state was read to its end, and can be read on."""

    @property
    def problem(self) -> str:
        """Why the state is not read at the moment; empty: it is."""

    @property
    def lag(self) -> int:
        """Offsets between what was read of the state and its end."""

    async def topics_of(self, tenant: str) -> list[str]:
        """Return the physical names of all topics of the cluster that a tenant belongs to, of every tenant.

        Raises:
            Unavailable: the cluster does not answer.
        """

    async def delete_topics(self, tenant: str, names: Sequence[str]) -> dict[str, str]:
        """Delete topics of the cluster that a tenant belongs to, by DeleteTopics with the gateway's account.

        Args:
            tenant: whose cluster it is.
            names: the physical names.
        Returns:
            Kafka's error of each topic that still exists, by its physical name.
        Raises:
            Unavailable: the cluster does not answer.
        """

    async def create_topic(
        self, tenant: str, name: str, wanted: TopicState, *, validate_only: bool
    ) -> TopicState | str:
        """Create a topic on the cluster that a tenant belongs to, by CreateTopics with the gateway's account.

        Args:
            tenant: whose cluster it is.
            name: its physical name.
            wanted: its size, -1 for what the brokers do by default, and its configs.
            validate_only: whether only to say what would be created.
        Returns:
            Its size, with `wanted.configs`; or Kafka's error.
        Raises:
            Unavailable: the cluster does not answer.
        """

    async def describe_topics(self, tenant: str, names: Sequence[str]) -> dict[str, TopicState]:
        """Return the topics of these physical names that exist on the cluster that a tenant belongs to.

        Raises:
            Unavailable: the cluster does not answer, or does not let the gateway's account describe configs.
        """

    async def alter_topic_configs(
        self, tenant: str, changes: Mapping[str, Mapping[str, str | None]]
    ) -> dict[str, str]:
        """Change configs of topics of the cluster that a tenant belongs to, by IncrementalAlterConfigs.

        Args:
            tenant: whose cluster it is.
            changes: by physical name the configs; None: the topic has no value of its own any more.
        Returns:
            Kafka's error of each topic whose configs stay, by its physical name.
        Raises:
            Unavailable: the cluster does not answer; some may have been changed.
        """

    async def list_groups(self, tenant: str) -> list[ListedGroup]:
        """Return all groups of consumers of the cluster that a tenant belongs to, of every tenant.

        Raises:
            Unavailable: a broker does not answer.
        """

    async def describe_group(self, tenant: str, group_id: str) -> GroupState | None:
        """Return a group of the cluster that a tenant belongs to, by its physical name; None: it does not exist.

        Raises:
            Unavailable: the cluster does not answer.
        """

    async def delete_group(self, tenant: str, group_id: str) -> str | None:
        """Delete a group likewise; return Kafka's error, None for none.

        Raises:
            Unavailable: the cluster does not answer.
        """

    async def commit_offsets(
        self, tenant: str, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, str]:
        """Commit offsets of a group without members; return Kafka's error of each that stays as it was.

        Raises:
            Unavailable: the cluster does not answer; some may have been committed.
        """

    async def partitions_of(self, tenant: str, topics: Sequence[str]) -> list[TopicPartition]:
        """Return the partitions of topics by their physical names; those that do not exist have none.

        Raises:
            Unavailable: the cluster does not answer.
        """

    async def offsets_at(
        self, tenant: str, partitions: Sequence[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """Return the offsets of partitions at a timestamp, by ListOffsets; those that have none are left out.

        Args:
            tenant: whose cluster it is.
            partitions: what is asked for, with physical names.
            timestamp: in milliseconds since 1970; -1: the end, -2: the beginning.
        Raises:
            Unavailable: the cluster does not answer.
        """

    async def change(
        self,
        changes: Sequence[Change],
        on_behalf_of: str,
        unchanged: Sequence[Unchanged] = (),
        dependents: Dependents | None = None,
    ) -> str:
        """Change keys together; when this returns, the change is committed and the table has it.

        Args:
            changes: at least one, each of another key.
            on_behalf_of: the admin that asked for it.
            unchanged: what must be as the caller has seen it.
            dependents: returns further changes, of other keys, that go with these, by the state as it is when no
                other writer can commit any more. It may be called more than once, and raises what speaks against all.
        Returns:
            The ID of the change.
        Raises:
            StateConflict: a key is not as expected. Nothing was written.
            TooLarge: the state has no room. Nothing was written.
            Unavailable, OutcomeUnknown: see there.
        """
