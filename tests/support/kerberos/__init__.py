"""A Kerberos realm."""
