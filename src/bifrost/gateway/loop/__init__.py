"""The event loop: what escapes it, how long its turns take, and work that is done now and then."""
