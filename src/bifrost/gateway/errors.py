"""What keeps a gateway from starting or from reaching its brokers."""


class StartError(Exception):
    """The gateway cannot start; the text is one line for the operator, with how to mend it."""


class BrokerError(Exception):
    """A broker could not be reached, or did not answer in time or in form; the text says which and why."""


class LoginError(BrokerError):
    """A broker was reached and did not let the gateway in; the text has the broker's own words and no secret."""
