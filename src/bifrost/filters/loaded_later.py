"""A filter whose module is loaded by its first request: most gateways never get one, and a module takes memory."""

from importlib import import_module

from bifrost.filters.filter import AnyFilter, Exchange, RequestFilter
from bifrost.filters.steps import RequestStep
from bifrost.wire.message import Message


class LoadedLater(RequestFilter):
    """A filter of requests that stands for one of a module that is not loaded yet."""

    def __init__(self, module: str, name: str) -> None:
        """Stand for the filter class `name` of `module`."""
        self._module, self._name = module, name
        self._filter: AnyFilter | None = None

    def load(self) -> AnyFilter:
        """Load the module now, unless it is; return the filter."""
        if self._filter is None:
            self._filter = getattr(import_module(self._module), self._name)()
        return self._filter

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Let the filter decide."""
        return self.load().on_request(exchange, request)
