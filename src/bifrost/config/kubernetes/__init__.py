"""The second dialect: Kubernetes-style documents.

What is not obvious here:

* The loader knows one dialect. Documents of the other become its plain mapping first, and a `Source` keeps for each
  place in it the file, the line and the key that stand there: whoever checks something speaks of `tenants[0].auth`,
  the operator reads `spec.auth`. So a new key of the flat dialect is there in the other, in camelCase, without a line
  of code; one that does not fit has to be left out of `LISTENER_KEYS`, `TENANT_KEYS` or `GATEWAY_KEYS`.
"""
