"""The filter that runs a transform of the operator's own; the process in which it runs is asked as a source."""
