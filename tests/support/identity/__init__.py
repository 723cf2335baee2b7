"""Certificates, issuers of tokens, and who serves their keys."""
