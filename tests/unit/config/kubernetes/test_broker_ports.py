from bifrost.config.files.document import read_documents
from bifrost.config.kubernetes.broker_ports import Neighbours, is_port
from bifrost.config.kubernetes.resource import Resource


def neighbours(*listeners: str) -> Neighbours:
    """Virtual clusters with these listeners."""
    text = "---\n".join(f"spec: {{ listener: {one} }}\n" for one in listeners)
    return Neighbours([Resource("a.yaml", document) for document in read_documents(text)])


def test_the_brokers_have_the_sixteen_ports_after_the_own_one() -> None:
    assert neighbours("{ port: 9093 }").broker_ports_after(9093, None) == range(9094, 9110)
    assert neighbours().broker_ports_after(65530, None) == range(65531, 65536)


def test_the_next_virtual_cluster_ends_them() -> None:
    some = neighbours("{ port: 9093 }", "{ port: 9094 }", "{ port: 9100 }")

    assert list(some.broker_ports_after(9093, None)) == []
    assert some.broker_ports_after(9094, None) == range(9095, 9100)


def test_a_virtual_cluster_on_another_address_does_not() -> None:
    some = neighbours("{ port: 9095, bind: 10.0.0.1 }", "{ port: 9098 }")

    assert some.broker_ports_after(9093, "10.0.0.2") == range(9094, 9098)
    assert some.broker_ports_after(9093, "10.0.0.1") == range(9094, 9095)


def test_what_is_no_port_is_ignored() -> None:
    some = neighbours("{ port: true }", "{ port: x }", "[]", "{ port: 70000 }", "{ bind: 5 }")

    assert some.broker_ports_after(1, 5) == range(2, 18)
    assert [is_port(one) for one in (0, 1, 65_535, 65_536, True, "1", None)] == [
        *(False, True, True, False, False, False, False)
    ]
