"""Connections of clients, from the port that they came to until they end."""
