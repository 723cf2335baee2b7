"""The consumer groups of namespaces: what admins list, describe, delete and set back at the brokers."""
