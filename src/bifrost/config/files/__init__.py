"""The files of a configuration, and those that it names."""
