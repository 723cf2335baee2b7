"""KEKs: a key file, Vault's transit engine and AWS KMS wrap and unwrap DEKs. Calls block; for gateway and jobs."""
