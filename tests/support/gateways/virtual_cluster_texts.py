"""A KafkaVirtualCluster as an operator writes it, with and without filters."""

# The line numbers that the tests expect count from the line after the quotes.
PROD = """\
apiVersion: gateway.corp/v1alpha1
kind: KafkaVirtualCluster
metadata:
  name: tenant-a-prod
spec:
  # 1. Virtualization interface
  listener:
    bind: 0.0.0.0
    port: 9093
    advertisedHost: gateway.corp.net

  # 2. Backing infrastructure
  targetCluster:
    bootstrapServers: "broker-1.internal:9092,broker-2.internal:9092"

  # 3. Isolation rules
  virtualization:
    topicPrefix: "t1-"
    groupPrefix: "t1-"
    transactionIdPrefix: "t1-"
"""
FILTERS = """\

  # 4. Active filters (the chain)
  filters:
    - name: SchemaValidator
      config:
        registryUrl: "http://schema-registry.internal:8081"
        enforce: true
    - name: EnvelopeEncryption
      config:
        kmsProvider: "Vault"
        keyId: "tenant-a-master-key"
        cacheExpirySeconds: 300
"""
