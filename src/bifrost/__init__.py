"""Bifrost: a gateway that speaks the Kafka wire protocol, for many tenants on one real Kafka."""
