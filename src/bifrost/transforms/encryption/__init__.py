"""EnvelopeEncryption: seals the records of a topic on their way to the broker, opens them on the way back. No I/O."""
