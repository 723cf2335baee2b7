from bifrost.encryption.place import Place


def test_places_are_told_apart_by_every_part() -> None:
    places = [
        Place("c", "orders", 0),
        Place("c", "orders", 1),
        Place("c", "order", 0),
        Place("d", "orders", 0),
        Place("co", "rders", 0),
        Place("", "corders", 0),
    ]

    assert len({one.binding for one in places}) == len(places)


def test_a_place_is_bound_as_the_page_says() -> None:
    assert Place("c", "é", 7).binding == b"\x00\x01c\x00\x02\xc3\xa9\x00\x00\x00\x07"


def test_a_place_says_where_it_is() -> None:
    assert repr(Place("c", "orders", 7)) == "Place('c', 'orders', 7)"
