"""The second dialect: Kubernetes-style documents."""
