"""Identity providers of clients: issuers of tokens and Kerberos realms."""
