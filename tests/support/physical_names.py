"""What brokers call the entities of tenants, by the default naming rule.

The rule is written here a second time and not taken from the product, so that no test compares the rule with itself.
The tests of the rule have its results as literals; tests/test_tidy.py names these files.
"""

MARK = "__vt_"
"""How all names of tenants without prefixes of their own begin."""


def prefix_of(tenant: str) -> str:
    """Return how the names of a tenant begin."""
    return f"{MARK}{tenant}_"


def physical_name(tenant: str, name: object) -> str:
    """Return what brokers call a tenant's topic, group, transactional ID or client."""
    return f"{prefix_of(tenant)}{name}"
