"""A user of the attacker's tenant of whom the gateway has verifiers alone, as expensive ones as it takes."""

from pathlib import Path

from bifrost.config.fields.verifiers import MAX_ITERATIONS, Mechanism, ScramVerifier

SALTED = "attacker-salted"


def salted_credential(directory: Path, password: str) -> dict[str, str]:
    """Write the user's verifiers into a file; return its entry in the configuration."""
    salt = b"some salt of this attacker"
    verifier = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, password.encode(), salt, MAX_ITERATIONS)
    file = directory / f"{SALTED}.scram"
    file.write_text(verifier.to_line() + "\n")
    return {"username": SALTED, "scram_file": file.name}
