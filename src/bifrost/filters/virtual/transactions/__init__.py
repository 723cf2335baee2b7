"""Transactions on virtual partitions: Produce with its claims, AddPartitionsToTxn and DescribeTransactions.

Why a claim keeps a transaction exact is in tenancy/virtual_partitions/transaction_claims.py.
"""
