from bifrost.tenancy.error_texts import ErrorTexts
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from support.physical_names import MARK, physical_name, prefix_of

ORDERS, SECRET = (physical_name("acme", name) for name in ("orders", "/secret"))


def texts(*marks: str) -> ErrorTexts:
    denied = physical_name("acme", "/").encode()
    found = ErrorTexts(denied, [prefix_of("acme").encode()], RelativeNames())
    found.mark(marks)
    return found


def test_the_tenant_s_prefixes_are_removed_wherever_they_stand() -> None:
    text = f"Topic '{ORDERS}' and {SECRET}, partition {ORDERS}-0".encode()

    assert texts().virtual(text) == b"Topic 'orders' and secret, partition orders-0"


def test_a_text_that_may_name_another_tenant_s_entity_is_dropped() -> None:
    foreign = physical_name("globex", "orders")

    assert texts(MARK).virtual(f"Topic '{foreign}'".encode()) == b""
    assert texts(MARK).virtual(f"Topic '{ORDERS}'".encode()) == b"Topic 'orders'"


def test_a_denied_form_is_explained_as_the_name_that_the_client_sent() -> None:
    denied = physical_name("acme", "/")
    text = f"'{denied}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"

    assert texts().virtual(text.encode()) == b"the empty string is not allowed"
