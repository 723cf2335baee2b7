"""Members of a consumer group of the newer protocol (KIP-848) that send exactly the heartbeats that a test says."""

from __future__ import annotations

import time
import uuid
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ConsumerGroupHeartbeatRequest
from support.clients.raw_client import RawClient

WAIT_S = 30.0
_LEAVES = -1


class NewerMember:
    """One member, of one topic."""

    def __init__(
        self,
        client: RawClient,
        group: str,
        topic: str,
        topic_id: bytes,
        *,
        instance_id: str | None = None,
        regex: str | None = None,
    ) -> None:
        """Describe it; it joins with its first heartbeat.

        Args:
            client: at the coordinator of the group.
            group: to join.
            topic: what it subscribes to.
            topic_id: of that.
            instance_id: of a static member.
            regex: what it subscribes to instead.
        """
        self._client, self.group, self.topic, self._topic_id = client, group, topic, topic_id
        self._instance_id, self._regex = instance_id, regex
        self._version = client.at_most(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
        # Before v1 the coordinator chooses the ID.
        self.member_id = str(uuid.uuid4()) if self._version >= 1 else ""
        self.epoch = 0
        self.assigned: set[int] = set()
        """What it was assigned last."""
        self.owned: set[int] = set()
        """What it says that it owns."""

    def beat(self) -> Any:
        """Send a heartbeat with all fields; take the epoch and the assignment of the answer, and return that."""
        new = ConsumerGroupHeartbeatRequest
        joins = self.epoch == 0
        owned = [] if joins or not self.owned else sorted(self.owned)
        request = new(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self._instance_id,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[] if self._regex else [self.topic],
            subscribed_topic_regex=self._regex,
            topic_partitions=[new.TopicPartitions(topic_id=self._topic_id, partitions=owned)]
            if owned
            else [],
        )
        answer = self._client.request(request, self._version)
        if not answer.error_code:
            self.member_id, self.epoch = answer.member_id, answer.member_epoch
            if answer.assignment is not None:
                self.assigned = {
                    number
                    for one in answer.assignment.topic_partitions
                    if one.topic_id == self._topic_id
                    for number in one.partitions
                }
        return answer

    def obey(self) -> Any:
        """Send a heartbeat, and own what it says from then on."""
        answer = self.beat()
        assert answer.error_code == ErrorCode.NONE, (answer.error_code, answer.error_message)
        self.owned = set(self.assigned)
        return answer

    def leave(self, epoch: int = _LEAVES) -> Any:
        """Leave; -2: as a static member that comes back."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=epoch, instance_id=self._instance_id
        )
        self.epoch, self.assigned, self.owned = 0, set(), set()
        return self._client.request(request, self._version)


def settle(members: list[NewerMember], size: int, *, idle: int = 0) -> None:
    """Let all members send heartbeats until they own the `size` partitions of the topic among them, each one once.

    Args:
        members: all of the group.
        size: how many partitions there are.
        idle: how many members own none.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        for member in members:
            member.obey()
            owned = [number for one in members for number in one.owned]
            assert len(owned) == len(set(owned)), "a partition has two members"
        if (
            sorted(owned) == list(range(size))
            and len({one.epoch for one in members}) == 1
            and sum(not one.owned for one in members) == idle
        ):
            return
        assert time.monotonic() < deadline, [(one.epoch, sorted(one.owned)) for one in members]
        time.sleep(0.02)
