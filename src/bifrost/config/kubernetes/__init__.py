"""The second dialect: Kubernetes-style documents.

What is not obvious here:

* The loader knows one dialect. Documents of the other are first translated into its plain mapping, and a `Source` keeps
  the file, line and key of each place in it: a check names `tenants[0].auth`, the operator reads `spec.auth`. So a new
  key of the flat dialect exists in the other, in camelCase, without new code; a key that does not fit has to be left
  out of `LISTENER_KEYS`, `TENANT_KEYS` or `GATEWAY_KEYS`.
"""
