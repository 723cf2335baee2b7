"""Who is it? SASL servers and clients, tokens, certificates, and what a failed try costs. No I/O."""
