"""Schema registries: a client of the API that Confluent, Apicurio and Karapace share. Calls block."""
