"""Random operations of clients, played against a broker and through the gateway."""
