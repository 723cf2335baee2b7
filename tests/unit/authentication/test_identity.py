import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from bifrost.authentication.accounts import Account, Accounts, AuthenticationFailed
from bifrost.authentication.identity import ANONYMOUS, Identification, show
from bifrost.config.principals.principal_mapping import PrincipalMapping
from bifrost.config.secrets import Secret
from support.identity.certificates import Authority

AUTHORITY = Authority("CA")
ACCOUNTS = Accounts(
    [Account("billing", "acme"), Account("CN=shop", "globex"), Account("writer", "acme", Secret(b"w"))],
    key=b"k",
)
BY_COMMON_NAME = PrincipalMapping("RULE:^CN=([^,]+)$/$1/")


def identification(mapping: PrincipalMapping = BY_COMMON_NAME, tenant: str | None = None) -> Identification:
    return Identification(ACCOUNTS, mapping, tenant)


def certificate(name: str) -> bytes:
    return AUTHORITY.client(name).der


def test_the_mapped_name_is_looked_up_among_the_principals() -> None:
    assert identification().account_of(certificate("billing")) == Account("billing", "acme")
    assert identification(PrincipalMapping("DEFAULT")).account_of(certificate("shop")).tenant == "globex"


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("unknown", "no tenant has the principal User:unknown: add it to auth.principals of one"),
        ("writer", "no tenant has the principal User:writer"),  # A user name is for its password alone.
        ("a,b", r"none of principal_mapping_rules matches CN=a\\,b"),
        ("\x1b[31mred", r"User:\x1b[31mred"),
    ],
)
def test_a_principal_of_no_tenant_is_refused_with_a_line_for_the_log(name: str, detail: str) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        identification().account_of(certificate(name))

    assert detail in caught.value.detail
    assert caught.value.detail.isprintable()


def test_without_a_certificate_no_client_is_known() -> None:
    with pytest.raises(AuthenticationFailed, match="Authentication failed"):
        identification().account_of(None)


def test_a_listener_set_of_one_tenant_makes_every_client_that_tenants() -> None:
    of_every_client = identification(tenant="globex")

    assert of_every_client.account_of(None) == Account(ANONYMOUS, "globex", is_listed=False)
    assert of_every_client.account_of(certificate("billing")) == Account("billing", "globex", is_listed=False)
    with pytest.raises(AuthenticationFailed):
        identification(PrincipalMapping("RULE:x/y/"), "globex").account_of(certificate("billing"))


def test_a_name_that_rules_would_take_long_over_is_refused() -> None:
    name = x509.Name([x509.NameAttribute(NameOID.DOMAIN_COMPONENT, "," * 300)])
    with pytest.raises(AuthenticationFailed) as caught:
        identification().account_of(AUTHORITY.client(name).der)

    assert "a name of 603 characters; at most 512 are mapped" in caught.value.detail


def test_a_certificate_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        identification().account_of(b"\x30\x01")

    assert caught.value.detail == "the client's certificate: is not well-formed"


def test_names_are_shown_in_ascii() -> None:
    assert show("a\nä") == r"a\n\xe4"
