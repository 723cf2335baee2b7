"""What an operator may switch on beside what every gateway has, for attacks on it: the attacker may use all of it.

A shared state, ACLs that the attacker administers, quotas and users that it makes, virtual partitions, filters of
records, a single address for all brokers, the admin API, whose tokens it does not have, and a second tenant of its own,
whose topics are listed.
"""

import base64
import os
import secrets
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.certificates import HOST
from bench.laboratory import run_child

DIVIDED, SHARED_BY = "divided", 128
"""A topic with virtual partitions, as many as may share a physical one."""
COMPACTED = "compacted"
"""The same with keys for the log cleaner."""
DIVISIONS = [
    {"topics": [DIVIDED], "virtual": SHARED_BY, "physical": 1},
    {"topics": [COMPACTED], "virtual": SHARED_BY, "physical": 1, "compacted": True},
]
MASKED, SEALED = "masked", "sealed"
"""Topics whose records filters change: fields of JSON values, and whole batches."""
LISTED = "listed"
"""A tenant with a list of topics, and its user, whose password is the attacker's."""
LISTED_TOPICS = tuple(f"orders.eu-{number % 7}.part_{number:04d}" for number in range(2000))
"""The gateway matches patterns with them itself. As many as the steps of a match are enough for (`MAX_STEPS`)."""
USER_PREFIX = "made-by-attacker-"


def add_features(
    configuration: dict[str, Any], tenant: str, directory: Path, single_port: int, control_port: int
) -> None:
    """Add all of it to a configuration, for a tenant whose only user is called like it.

    Args:
        configuration: what else the gateway has.
        tenant: the attacker's.
        directory: where its files may be.
        single_port: of the single address.
        control_port: of the admin API.
    """
    (directory / "admin.token").write_text(secrets.token_hex(32))
    kek = base64.b64encode(secrets.token_bytes(32)).decode()
    (directory / "keks").write_text(f"attacker 1 {kek}\n")
    os.chmod(directory / "keks", 0o600)
    proxy = configuration["proxy"]
    proxy["listener_sets"].append(
        {
            "name": "single",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanisms": ["PLAIN", "SCRAM-SHA-256"],
            "single_address": True,
            "port_range": {"bind_host": HOST, "advertised_host": HOST, "bootstrap_port": single_port},
        }
    )
    proxy["state"] = {"replication_factor": 1}
    proxy["control"] = {
        "bind_host": HOST,
        "port": control_port,
        "admins": [{"name": "operator", "role": "operator", "token_file": "admin.token"}],
    }
    (own,) = (one for one in configuration["tenants"] if one["name"] == tenant)
    user = f"User:{tenant}"
    own["allow_quota_changes"] = True
    own["auth"]["stored_users"] = {"name_prefix": USER_PREFIX}
    own["acls"] = {
        "allow_everyone_if_no_acl_found": True,
        "rules": [
            {"principal": user, "operation": "ALL", "resource_type": "CLUSTER", "name": "kafka-cluster"},
            *(
                {"principal": user, "operation": "ALL", "resource_type": kind, "name": "*"}
                for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")
            ),
        ],
    }
    own["virtual_partitions"] = DIVISIONS
    own["filters"] = _filters()
    configuration["tenants"].append(_listed_tenant(f"{tenant}.password"))


def _filters() -> list[dict[str, Any]]:
    return [
        {
            "name": "Masking",
            "config": {"fields": [{"path": "secret", "action": "set_null"}]},
            "rules": [{"topics": [MASKED]}],
        },
        {
            "name": "EnvelopeEncryption",
            "config": {"kms_provider": "KeyFile", "key_id": "attacker", "key_file": "keks"},
            "rules": [{"topics": [SEALED]}],
        },
    ]


def _listed_tenant(password_file: str) -> dict[str, Any]:
    return {
        "name": LISTED,
        "allowed_topics": list(LISTED_TOPICS),
        "auth": {"credentials": [{"username": LISTED, "password_file": password_file}]},
    }


def start_control(running: ExitStack, config: Path, port: int, log_file: Path) -> None:
    """Start the admin API, until `running` ends."""
    command = [sys.executable, "-m", "bifrost.cli.main", "control", "--config", str(config)]
    run_child(running, command, port, log_file)
