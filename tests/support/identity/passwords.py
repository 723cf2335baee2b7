"""Passwords against accounts, as the gateway checks them."""

from __future__ import annotations

from bifrost.authentication.accounts import Account, Accounts


def proved_account(accounts: Accounts, username: str, password: bytes) -> Account | None:
    """Return the account that a name and a password prove; None: one of them is wrong."""
    check = accounts.check(username, password)
    check.run()
    return check.account
