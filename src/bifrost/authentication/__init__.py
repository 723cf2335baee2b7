"""Who is it? SASL servers and clients, tokens, certificates, and what a failed try costs. No I/O.

What is not obvious here:

* An unknown user has a verifier, made after some account's: whatever is asked of a name that exists (a salt, a
  comparison, PBKDF2) is done for one that does not. Do nothing in an authentication that depends on whether there is
  such a user.
* SCRAM passwords are not prepared by SASLprep, against RFC 5802: no client of Kafka's does it, nor does Kafka.
* A login may wait for an issuer's keys, by the means of a new connection that is held back: its frame is given to the
  exchange again when the fetch under way has ended, so `respond` changes nothing before it raises KeysAreFetched.
* Python's gssapi keeps an error back that comes with a token for the client, and raises it at whatever is asked next:
  `complete` is asked for at once.
* Users of other tenants are not unknown at a tenant's own listener set (`Accounts.only_of`): an unknown user's salt
  is another, and comparing two listener sets would show who exists.
"""
