"""The settings that a gateway takes over only when it starts: all others can change while it runs."""

from bifrost.config.model import Config
from bifrost.gateway.errors import StartError

NEEDS_RESTART = {
    "journal": "proxy.journal",
    "partition_index": "proxy.partition_index",
    "pseudonym_key": "proxy.pseudonym_key_file",
    "quota_exchange": "proxy.quota_exchange",
    "state": "proxy.state",
    "workers": "proxy.workers",
}
"""By field of `Proxy`: the key in the configuration. docs/operations.md has the same list."""


def check_changes(before: Config, after: Config) -> None:
    """Refuse what cannot change while a gateway runs.

    Raises:
        StartError: such settings differ; the text names them all.
    """
    changed = [
        key
        for field, key in NEEDS_RESTART.items()
        if getattr(before.proxy, field) != getattr(after.proxy, field)
    ]
    if changed:
        raise StartError(f"{' and '.join(changed)} cannot change while the gateway runs: restart it")
