"""What a broker says, as a client behind a single address before several is told it.

A direct client asks each broker for what it leads and coordinates, and is told which broker that is. Behind a single
address there is one, so a direct client's answers are shown likewise before they are compared: by the gateway's own
rule for answers that name brokers, and put together where each broker knows a part.
"""

from __future__ import annotations

from typing import Any

from bifrost.filters.virtual.division import copied
from bifrost.routes.one_broker import NAMES_BROKERS, show_one
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from support.random.state_machine import Player

_PARTS = {
    ApiKey.LIST_GROUPS: "groups",
    ApiKey.LIST_TRANSACTIONS: "transaction_states",
    ApiKey.DESCRIBE_LOG_DIRS: "results",
}
"""APIs of which each broker knows a part, and where that stands."""
_LISTS = {
    ApiKey.DESCRIBE_GROUPS: ("groups", "groups"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ("group_ids", "groups"),
    ApiKey.SHARE_GROUP_DESCRIBE: ("group_ids", "groups"),
    ApiKey.STREAMS_GROUP_DESCRIBE: ("group_ids", "groups"),
    ApiKey.DELETE_GROUPS: ("groups_names", "results"),
    ApiKey.OFFSET_FETCH: ("groups", "groups"),
    ApiKey.DESCRIBE_TRANSACTIONS: ("transactional_ids", "transaction_states"),
}
"""APIs whose requests name several groups or transactional IDs, each with a coordinator of its own; and the answers."""


class DirectPlayer(Player):
    """A client of several brokers."""

    def ask(self, message: Message, version: int) -> Any:
        """Send a request; see `World.ask`. What counts is as at a single address."""
        api_key = message.SCHEMA.api_key
        asked, answered = _LISTS.get(ApiKey(api_key), ("", ""))
        first, *others = getattr(message, asked) or [None] if asked else [None]
        response = super().ask(copied(message, **{asked: [first]}) if others else message, version)
        for one in others:
            part = super().ask(copied(message, **{asked: [one]}), version)
            self.answers.pop()
            getattr(response, answered).extend(getattr(part, answered))
        if api_key in _PARTS:
            name, client = _PARTS[ApiKey(api_key)], self._connected()
            for node_id in client.nodes:
                if node_id != client.first:
                    found = client.at(node_id).request(message, version)
                    getattr(response, name).extend(getattr(found, name))
        if api_key in NAMES_BROKERS:
            show_one(response)
            self._show_address(response)
        return response

    def _show_address(self, response: Any) -> None:
        brokers = list(getattr(response, "brokers", ()))
        coordinators = [
            one for one in (response, *getattr(response, "coordinators", ())) if getattr(one, "host", "")
        ]
        for one in [*brokers, *coordinators]:
            one.host, one.port = self.endpoint.host, self.endpoint.port
