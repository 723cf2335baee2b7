"""Errors that prevent a gateway from starting or from reaching its brokers."""


class StartError(Exception):
    """The gateway cannot start; the text is one line for the operator, which says how to fix it."""


class BrokerError(Exception):
    """A broker could not be reached, or gave no valid answer in time; the text says which broker and why."""


class LoginError(BrokerError):
    """A broker refused the gateway's login; the text has the broker's own message and no secret."""


class OtherMechanism(LoginError):
    """A broker does not offer the SASL mechanism that was tried, but another one, which the next connection uses."""


class RecordsRefused(BrokerError):
    """A topic will never take these records."""
