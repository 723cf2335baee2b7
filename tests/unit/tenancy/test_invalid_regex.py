from bifrost.tenancy.invalid_regex import InvalidRegex


def test_the_message_says_what_is_wrong_and_where() -> None:
    error = InvalidRegex("missing closing )", 4)

    assert str(error) == "missing closing ) at offset 4"
    assert (error.reason, error.offset) == ("missing closing )", 4)


def test_the_first_character_has_an_offset_too_and_a_whole_pattern_has_none() -> None:
    assert str(InvalidRegex("nothing to repeat", 0)) == "nothing to repeat at offset 0"
    assert str(InvalidRegex("longer than 16384 bytes")) == "longer than 16384 bytes"
