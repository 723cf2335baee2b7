"""What a client has that others must never be told."""

from __future__ import annotations

from taint_search import Secret, id_secrets
from taint_side import Side

from support.forgery.victim import Victim


def secrets_of(side: Side, victim: Victim) -> list[Secret]:
    """Return the names, members, records and IDs of one side and of its victim."""
    texts = {
        "marker": side.marker,
        "config value": side.config_value,
        "offset metadata": f"zebra-metadata-{victim.tag}",
        "process": f"zebra-process-{victim.tag}",
        "tag": victim.tag,
        "member of a classic group": victim.member_id,
        "member of a consumer group": victim.consumer.member_id,
        "member of a share group": victim.share.member_id,
        "member of a streams group": victim.streams.member_id,
    }
    secrets = [Secret(what, text.encode()) for what, text in texts.items()]
    for name, topic_id in {**side.topic_ids, victim.topic: victim.topic_id}.items():
        secrets += id_secrets(f"ID of {name}", topic_id)
    return secrets
