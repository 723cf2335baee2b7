"""Rules that make principals of certificates and Kerberos tickets."""
