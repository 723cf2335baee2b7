"""Who owns which name. Decides, does no I/O."""
