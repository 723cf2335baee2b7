"""Who is it? SASL servers and clients, tokens, certificates, and what a failed try costs. No I/O.

What is not obvious here:

* An unknown user has a verifier, made after some account's: all work for a name that exists (a salt, a comparison,
  PBKDF2) is also done for one that does not. Do nothing in an authentication that depends on whether the user exists.
* SCRAM passwords are not prepared by SASLprep, against RFC 5802: neither Kafka nor its clients do so.
* A login may wait for an issuer's keys, in the same way as a new connection that is held back: its frame is given to
  the exchange again when the fetch under way has ended, so `respond` changes nothing before it raises KeysAreFetched.
  It may wait in the same way for the check of its password against a verifier (PBKDF2), which the gateway runs in a
  thread: 3 to 12 ms, for which all other connections would wait (PasswordIsChecked).
* When an error comes with a token for the client, Python's gssapi raises it only at the next access to the context: so
  `complete` is read at once.
* Users of other tenants are not unknown at a tenant's own listener set (`Accounts.only_of`): an unknown user has
  another salt, so a comparison of two listener sets would show which users exist.
"""
