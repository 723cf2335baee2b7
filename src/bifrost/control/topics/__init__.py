"""The topics that namespaces own: what admins list, create and delete at the brokers."""
