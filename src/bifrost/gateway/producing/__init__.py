"""Writes records of the gateway's own to topics of an upstream; the journal is the first of them."""
