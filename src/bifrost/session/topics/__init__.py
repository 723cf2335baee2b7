"""Lists of a tenant's topics, which a session or the gateway asks a broker for. No I/O."""
