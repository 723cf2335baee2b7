"""Share groups (KIP-932) at a single address: a client has one share session, and the gateway one with each leader.

share_session.py has the sessions with their epochs and partitions, share_answers.py what brokers have answered to
polls, and share_parts.py the requests to brokers and the answers to the client. All are without I/O.
"""
