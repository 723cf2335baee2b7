"""The settings that a gateway takes over only when it starts: all others can change while it runs."""

from bifrost.config.files.process_settings import ProcessSettings
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

PROCESS_NEEDS_RESTART = {
    "log_level": "logging.level",
    "log_as_json": "logging.json (or logging.format)",
}
"""By field of `ProcessSettings`: the key in a partition remapper's file. The options of `bifrost run` count before
these keys, and each worker's command line has what counts, so processes that run do not take them over."""

_WITHOUT_FILE = ProcessSettings(log_level="info", log_as_json=False, notices=())
"""What a configuration of another dialect says of the log: the options alone count, as with a file's default values."""


def check_changes(before: Config, after: Config) -> None:
    """Refuse what cannot change while a gateway runs.

    Raises:
        StartError: such settings differ; the text names them all.
    """
    logged, to_log = before.process or _WITHOUT_FILE, after.process or _WITHOUT_FILE
    changed = [
        key
        for field, key in NEEDS_RESTART.items()
        if getattr(before.proxy, field) != getattr(after.proxy, field)
    ] + [
        key
        for field, key in PROCESS_NEEDS_RESTART.items()
        if getattr(logged, field) != getattr(to_log, field)
    ]
    if changed:
        raise StartError(f"{' and '.join(changed)} cannot change while the gateway runs: restart it")
