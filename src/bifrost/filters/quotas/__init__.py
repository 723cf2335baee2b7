"""Filters for AlterClientQuotas and DescribeClientQuotas (KIP-546): a tenant's quotas in its own world.

The gateway answers both itself: the quotas of a tenant are in the state, and no broker knows them.
"""
