"""Which fields of messages name an entity, such as a topic or a group."""
