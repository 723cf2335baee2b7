"""Routing: the connections to several brokers behind one client's connection, at a listener with a single address.

To a client's connection a `Router` is what a `BrokerConnection` is elsewhere: it takes the frames that the session
sends to the broker, and gives the answers back in their order. `routes/` decides how a frame is taken apart.
"""
