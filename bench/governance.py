"""`make bench-governance`: what ACLs and quotas cost whose limits are never reached."""

from bench.turns import compare

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

if __name__ == "__main__":
    compare(
        lambda laboratory: laboratory.gateway(of_tenants=f"{QUOTAS}, {ACLS}", name="gateway, ACLs and quotas")
    )
