"""The topic IDs that a session waits for."""

from bifrost.filters.steps import TopicIds
from bifrost.session.client_session import ClientSession


def looked_up_by(session: ClientSession) -> frozenset[bytes]:
    """Return the topic IDs that the session waits for."""
    return frozenset().union(*(need.ids for need in session.needs if isinstance(need, TopicIds)))


def meet_look_ups(session: ClientSession) -> None:
    """Let the session go on: the topic IDs that it waits for were looked up."""
    for need in session.needs:
        if isinstance(need, TopicIds):
            session.meet(need)
