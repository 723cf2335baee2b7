"""Certificates of isolation: the check of every access against the tenants' prefixes, and the signed report."""
