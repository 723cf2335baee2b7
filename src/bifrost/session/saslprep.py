"""SASLprep: two ways of writing a user name in Unicode become one (RFC 4013, a profile of stringprep).

Kafka's own clients send names as they are; others prepare them (RFC 5802, section 5.1). See `Accounts.find`.
"""

import unicodedata


def saslprep(name: str) -> str | None:
    """Return the name as a client that prepares it sends it; None when it has characters that none may send."""
    if name.isascii() and name.isprintable():
        return name
    # Only who has such names pays for the tables.
    import stringprep

    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char for char in name if not stringprep.in_table_b1(char)
    )
    prepared = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    prohibited = (
        stringprep.in_table_c12,
        stringprep.in_table_c21_c22,
        stringprep.in_table_c3,
        stringprep.in_table_c4,
        stringprep.in_table_c5,
        stringprep.in_table_c6,
        stringprep.in_table_c7,
        stringprep.in_table_c8,
        stringprep.in_table_c9,
    )
    if any(is_prohibited(char) for char in prepared for is_prohibited in prohibited):
        return None
    if any(map(stringprep.in_table_d1, prepared)):
        # RFC 3454, section 6: who writes from right to left does so from end to end.
        has_left_to_right = any(map(stringprep.in_table_d2, prepared))
        ends = stringprep.in_table_d1(prepared[0]) and stringprep.in_table_d1(prepared[-1])
        if has_left_to_right or not ends:
            return None
    return prepared
