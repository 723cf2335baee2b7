"""Members of a streams group (KIP-1071) that send exactly the heartbeats that a test says."""

from __future__ import annotations

import time
import uuid
from typing import Any

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import StreamsGroupHeartbeatRequest
from support.clients.raw_client import RawClient

WAIT_S = 30.0
SUBTOPOLOGY = "0"
_LEAVES = -1
_New = StreamsGroupHeartbeatRequest


class StreamsMember:
    """One member, of an application with one subtopology."""

    def __init__(
        self, client: RawClient, group: str, *sources: str, port: int | None = None, **topology: Any
    ) -> None:
        """Describe it; it joins with its first heartbeat.

        Args:
            client: at the coordinator of the group.
            group: to join.
            sources: the topics that it reads.
            port: where it would answer interactive queries; None: nowhere.
            topology: further fields of the subtopology.
        """
        self._client, self.group, self._port = client, group, port
        self._topology = _New.Topology(
            epoch=0,
            subtopologies=[
                _New.Subtopology(subtopology_id=SUBTOPOLOGY, source_topics=list(sources), **topology)
            ],
        )
        self.member_id, self.epoch = str(uuid.uuid4()), 0
        self.assigned: set[int] = set()
        """The tasks that it was assigned last."""
        self.owned: set[int] = set()
        """The tasks that it says that it has."""

    def beat(self, client: RawClient | None = None) -> Any:
        """Send a heartbeat with all that it has; take the epoch and the tasks of the answer, and return that."""
        request = _New(
            group_id=self.group, member_id=self.member_id, member_epoch=self.epoch, **self._tasks()
        )
        if self.epoch == 0:
            request.topology, request.process_id, request.client_tags = self._topology, self.member_id, []
            request.rebalance_timeout_ms = 60_000
            if self._port is not None:
                request.user_endpoint = _New.Endpoint(host="localhost", port=self._port)
        answer = (client or self._client).request(request, 0)
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.active_tasks is not None:
                self.assigned = {number for one in answer.active_tasks for number in one.partitions}
        return answer

    def obey(self, client: RawClient | None = None) -> Any:
        """Send a heartbeat, and have what it says from then on."""
        answer = self.beat(client)
        assert answer.error_code == ErrorCode.NONE, (answer.error_code, answer.error_message)
        self.owned = set(self.assigned)
        return answer

    def leave(self) -> Any:
        """Leave the group."""
        request = _New(group_id=self.group, member_id=self.member_id, member_epoch=_LEAVES)
        self.epoch, self.assigned, self.owned = 0, set(), set()
        return self._client.request(request, 0)

    def _tasks(self) -> dict[str, Any]:
        owned = [] if self.epoch == 0 else sorted(self.owned)
        active = [_New.TaskIds(subtopology_id=SUBTOPOLOGY, partitions=owned)] if owned else []
        return {"active_tasks": active, "standby_tasks": [], "warmup_tasks": []}


def settle(members: list[StreamsMember], size: int, client: RawClient | None = None) -> None:
    """Let all members send heartbeats until they have the `size` tasks among them, each one once."""
    deadline = time.monotonic() + WAIT_S
    while True:
        for member in members:
            member.obey(client)
            owned = [number for one in members for number in one.owned]
            assert len(owned) == len(set(owned)), "a task has two members"
        if sorted(owned) == list(range(size)) and len({one.epoch for one in members}) == 1:
            return
        assert time.monotonic() < deadline, [(one.epoch, sorted(one.owned)) for one in members]
        time.sleep(0.05)
