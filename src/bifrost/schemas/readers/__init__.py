"""Readers of payloads under a schema, by the kind of the schema: Avro, JSON Schema, Protobuf. No I/O."""
