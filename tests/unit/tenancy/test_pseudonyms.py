import hashlib
from base64 import urlsafe_b64encode

import pytest

from bifrost.tenancy.pseudonyms import Pseudonyms

PHYSICAL = "4L6g3nShT-eMCtK--X86sw"
PATH = "/var/lib/kafka/data-0"
KEY = b"sixteen random b"


def of(path: str = "acme", key: bytes = b"", cluster_id: str = PHYSICAL) -> Pseudonyms:
    return Pseudonyms(path, key, lambda: cluster_id)


def test_without_a_key_the_cluster_id_is_what_it_always_was() -> None:
    digest = hashlib.blake2b(PHYSICAL.encode(), digest_size=16, key=b"acme", person=b"bifrost-cluster")

    assert of().cluster_id(PHYSICAL) == urlsafe_b64encode(digest.digest()).decode().rstrip("=")


def test_without_the_key_the_cluster_id_cannot_be_made() -> None:
    ids = {
        of().cluster_id(PHYSICAL),
        of(key=KEY).cluster_id(PHYSICAL),
        of(key=KEY + b"x").cluster_id(PHYSICAL),
    }

    assert len(ids) == 3
    assert all(len(one) == 22 for one in ids)
    assert of(key=KEY).cluster_id(PHYSICAL) == of(key=KEY).cluster_id(PHYSICAL)


def test_without_a_key_a_path_cannot_be_guessed_by_who_does_not_know_the_cluster() -> None:
    before = hashlib.blake2b(PATH.encode(), digest_size=4, key=b"acme").hexdigest()

    assert of().log_dir(PATH) != f"/log-dir-{before}"
    assert of().log_dir(PATH) != of(cluster_id="another").log_dir(PATH)
    assert of().log_dir(PATH) == of().log_dir(PATH)


def test_with_a_key_the_clusters_id_is_of_no_use() -> None:
    assert of(key=KEY).log_dir(PATH) == of(key=KEY, cluster_id="another").log_dir(PATH)
    assert of(key=KEY).log_dir(PATH) not in (of().log_dir(PATH), of(key=b"another key").log_dir(PATH))


@pytest.mark.parametrize("key", [b"", KEY])
def test_no_two_namespaces_share_a_pseudonym(key: bytes) -> None:
    paths = ["acme", "globex", "acme:eu", "acme:us"]

    assert len({of(path, key).log_dir(PATH) for path in paths}) == 4
    assert len({of(path, key).cluster_id(PHYSICAL) for path in paths}) == 4
