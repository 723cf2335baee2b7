"""`make bench-governance`: what ACLs and quotas cost whose limits are never reached."""

import argparse
import sys
from pathlib import Path

from bench.page import replace_between
from bench.turns import compare

PAGE = "quotas.md"
MOST = 1.03
"""The CPU time with ACLs and quotas may be so many times that without."""

RATES = "producer_byte_rate: 1000GiB, consumer_byte_rate: 1000GiB, request_rate: 100000000, request_percentage: 100000"
QUOTAS = f"quotas: {{{RATES}, each_user: {{{RATES}}}}}"
ACLS = (
    "acls: {rules: ["
    + ", ".join(
        f'{{principal: "User:*", operation: ALL, resource_type: {kind}, name: "{name}"}}'
        for kind, name in (
            ("TOPIC", "*"),
            ("GROUP", "*"),
            ("TRANSACTIONAL_ID", "*"),
            ("CLUSTER", "kafka-cluster"),
        )
    )
    + "]}"
)


def main() -> int:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(prog="make bench-governance", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with status 1 when the goal is missed")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the tables to a folder's page")
    options = parser.parse_args()
    mean, text = compare(
        lambda laboratory: laboratory.gateway(of_tenants=f"{QUOTAS}, {ACLS}", name="gateway, ACLs and quotas")
    )
    if options.plot:
        page = options.plot / PAGE
        page.write_text(replace_between(page.read_text("utf-8"), "governance", text), "utf-8")
    return 1 if options.check and mean > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
