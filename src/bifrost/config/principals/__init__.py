"""Rules that derive principals from certificates and Kerberos tickets."""
