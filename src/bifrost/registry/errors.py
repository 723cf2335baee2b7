"""Why a registry gives no schema. The texts are for operators and clients: no secret, no answer's body."""


class RegistryError(Exception):
    """The registry gives no answer: it is away, slow, refuses the credentials, or answers what no registry does."""


class NoSuchSchema(Exception):
    """The registry knows no schema of this ID."""
