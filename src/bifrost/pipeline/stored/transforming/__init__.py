"""Transforms of the operator's own over stored records, by the program in which the gateway runs them."""
