"""The configuration file as one typed model, with errors that name file and line."""
