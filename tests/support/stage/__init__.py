"""A session without its sockets, and the messages that it is fed."""
