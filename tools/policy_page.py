"""Write docs/config-policy.md from the table of what tenants may set.

`--check` exits 1 when the committed page is not what this writes.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS, Decision
from bifrost.tenancy.policy import describe

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "config-policy.md"

HEAD = """# What tenants may set

Written by `tools/policy_page.py` from `src/bifrost/config/policies/config_table.py`; a test checks that it is current.

A topic's config is not the topic's alone: `segment.ms=1` takes a broker's memory maps, `flush.messages=1` its disk.
So a tenant may set what is in the tables below, within the bounds there, and nothing else: a config that is not in
them (a newer Kafka may have some) does not exist for it. This concerns CreateTopics, AlterConfigs and
IncrementalAlterConfigs, with `validate_only` too. DescribeConfigs shows everything.

| a request | is answered |
|---|---|
| sets a config that may not be set, or to a value that is not allowed | POLICY_VIOLATION, and what is allowed |
| sets a config that is in no table | INVALID_CONFIG, as a name that Kafka does not have |
| sets an allowed config to something that is no value of it | the broker's own INVALID_CONFIG |
| deletes (resets) a config that may not be set | POLICY_VIOLATION |
| asks for more replicas than `max_replication_factor` (3) | POLICY_VIOLATION |
| says which brokers are to have replicas | POLICY_VIOLATION, unless `allow_replica_assignments` is true |

Of one topic or group either everything that a request wants is done or nothing.

Kafka's tools, Kafka Connect and Kafka Streams keep within these bounds with their own topics. Kafka Streams before 2.3
does not: it sets `segment.ms` to 10 minutes and `segment.index.bytes` to 50 MiB.

## Other bounds

`policy` of the gateway and of each tenant ([configuration.md](configuration.md#proxypolicy)) changes them; a tenant's
rules come after the gateway's, and what a rule does not say stays:

```yaml
proxy:
  policy:
    topic_configs:
      - { name: retention.ms, max: 168h } # -1, no limit, is refused then
      - { name: compression.type, values: [producer, lz4, zstd] }
tenants:
  - name: acme
    policy:
      max_replication_factor: 2
      topic_configs:
        - { name: segment.ms, min: 10min }
        - { name: flush.messages, allowed: true } # any value
        - { name: cleanup.policy, allowed: false }
```

In a `KafkaVirtualCluster` the tenant's stands in `spec.virtualization.policy`, with the keys in camelCase and Kafka's
names as they are: `topicConfigs: [{ name: segment.ms, min: 10min }]`.

## To know

* AlterConfigs, which older clients send, takes back every config that it does not name, also those that the operator
  set on the topic. IncrementalAlterConfigs (Kafka 2.3) does not.
* What the brokers' own configuration gives a topic is not looked at: a bound there holds for what a tenant asks for.
* A segment is also rolled when a record's timestamp is later than that of its first record by `segment.ms` (7 days by
  default), so records with made-up times make segments as well. `log.message.timestamp.before.max.ms` of the brokers
  bounds how many.

"""


def page() -> str:
    """Return the page."""
    return HEAD + _section("Topic configs", TOPIC_CONFIGS) + "\n" + _section("Group configs", GROUP_CONFIGS)


def _section(title: str, table: Mapping[str, Decision]) -> str:
    rows = [
        f"| `{one.name}` | {f'`{one.default}`' if one.default else '(empty)'} | {describe(one)} | {one.why} |\n"
        for one in table.values()
    ]
    return (
        f"## {title}\n\n| config | Kafka's default | a tenant may set | because |\n|---|---|---|---|\n"
        + "".join(rows)
    )


def main(arguments: list[str]) -> int:
    """Run the tool; return its exit code."""
    fresh = page()
    if arguments == ["--check"]:
        is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == fresh
        if not is_current:
            print(f"{PAGE.name} is not current: run .venv/bin/python tools/policy_page.py")
        return 0 if is_current else 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
