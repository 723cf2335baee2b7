"""Who vouches for clients: issuers of tokens and Kerberos realms."""
