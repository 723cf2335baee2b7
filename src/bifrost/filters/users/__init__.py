"""Filters for AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554): the users that a tenant makes."""
