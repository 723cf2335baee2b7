"""The commands about transforms of the operator's own."""
