"""What Kafka's own classes know of configs and internal topics, asked in a process of their own.

python -m golden.java_configs RELEASE

in    "topics", "groups", "internal topics" or "remote log metadata"     one line
out   a list of names
"""

import json
import sys
from typing import Any

from bifrost.jars import locked_jars
from golden.java_process import JavaProcess

TOPICS, GROUPS, INTERNAL_TOPICS = "topics", "groups", "internal topics"

_CLASSES = {
    TOPICS: "org.apache.kafka.storage.internals.log.LogConfig",
    GROUPS: "org.apache.kafka.coordinator.group.GroupConfig",
}
_TOPIC_NAMES = (
    "org.apache.kafka.common.internals.Topic",
    "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManagerConfig",
)


class JavaConfigs(JavaProcess):
    """Those of one Kafka release; a context manager."""

    def __init__(self, release: str) -> None:
        super().__init__("golden.java_configs", release)

    def names(self, kind: str) -> set[str]:
        """Return the names of a kind; none where this release has no such class."""
        return set(self._ask(kind))


def main() -> None:
    """Answer questions until standard input ends."""
    from java_vm import java_class, start_java  # on the path of this process only

    start_java(locked_jars.resolve(locked_jars.broker_coordinates(sys.argv[1])))
    for line in sys.stdin:
        kind = json.loads(line)
        try:
            names = (
                _topic_names(java_class) if kind == INTERNAL_TOPICS else _configs(java_class(_CLASSES[kind]))
            )
        except LookupError:
            names = []
        sys.stdout.write(json.dumps(names) + "\n")
        sys.stdout.flush()


def _configs(owner: Any) -> list[str]:
    """Return all names that a class defines, internal ones too, which no broker lists."""
    fields = [one for one in owner.class_.getDeclaredFields() if "SERVER" not in str(one.getName())]
    (held,) = [one for one in fields if str(one.getType().getName()).endswith("ConfigDef")]
    held.setAccessible(True)
    return [str(name) for name in held.get(None).configKeys().keySet()]


def _topic_names(java_class: Any) -> list[str]:
    found = []
    for name in _TOPIC_NAMES:
        for field in java_class(name).class_.getDeclaredFields():
            if str(field.getName()).endswith("TOPIC_NAME"):
                field.setAccessible(True)
                found.append(str(field.get(None)))
    return found


if __name__ == "__main__":
    main()
