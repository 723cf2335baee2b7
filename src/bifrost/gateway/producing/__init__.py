"""Topics of the gateway's own on an upstream, and what writes and reads their records; the journal's is the first."""
