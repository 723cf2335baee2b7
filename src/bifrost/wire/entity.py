"""The meanings of fields for a gateway that gives every tenant names of its own."""

from enum import IntEnum


class Entity(IntEnum):
    """The meaning of a field. Values up to CLIENT_ID are the engine's slots: it replaces them in place."""

    NEUTRAL = 0
    """Means the same on both sides: client text, states, mechanisms, the tenant's own data."""
    TOPIC_NAME = 1
    GROUP_ID = 2
    TRANSACTIONAL_ID = 3
    TOPIC_ID = 4
    ERROR_TEXT = 5
    """Free text made by the broker; it may quote physical names."""
    TOPIC_REGEX = 6
    """A pattern that the broker matches with all topics of the cluster (KIP-848, KIP-1071)."""
    MEMBER_ID = 7
    """A group member's ID. A classic group's coordinator makes it from the client ID
    (ClassicGroup.generateMemberId)."""
    CLIENT_ID = 8
    """A client ID as the broker got it, in a description of group members."""
    BROKER_HOST = 16
    """A broker's address; its node ID and port are fields beside it."""
    CLUSTER_ID = 17
    COORDINATOR_KEY = 18
    """FindCoordinator: a group or a transactional ID, as `key_type` says."""
    SUBSCRIPTION = 19
    """JoinGroup metadata: ConsumerProtocolSubscription when the protocol type is `consumer`."""
    ASSIGNMENT = 20
    """SyncGroup assignment: ConsumerProtocolAssignment when the protocol type is `consumer`."""
    RESOURCE_NAME = 21
    """Configs: a topic, a group or a broker, as `resource_type` says."""
    CLIENT_HOST = 22
    """The address the broker saw a group member at: the gateway's, not the client's."""
    FOLLOWER = 23
    """Marks a request as another broker's; only brokers may replicate."""

    TRANSACTIONAL_ID_REGEX = 24
    """ListTransactions: a pattern that the broker matches with all transactional IDs."""
    LOG_DIR = 25
    """A path on a broker's disk."""

    @property
    def is_in_place(self) -> bool:
        """Whether the engine can replace it without decoding the message."""
        return self <= Entity.CLIENT_ID
