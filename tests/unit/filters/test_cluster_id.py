import pytest

from support.stage import messages
from support.stage.messages import metadata
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import PHYSICAL_CLUSTER_ID, Stage

ASK = messages.DescribeClusterRequest()


@pytest.mark.parametrize("version", range(2, 14))
def test_metadata_gives_the_tenants_own_cluster_id(stage: Stage, version: int) -> None:
    own = stage.namespaces["acme"].virtual_cluster_id(PHYSICAL_CLUSTER_ID)
    assert (
        stage.play()
        >> client_sends(metadata(), version)
        << to_broker(metadata())
        >> broker_answers(messages.MetadataResponse(cluster_id=PHYSICAL_CLUSTER_ID))
        << to_client(messages.MetadataResponse(cluster_id=own))
    )


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster_gives_the_same(stage: Stage, version: int) -> None:
    own = stage.namespaces["acme"].virtual_cluster_id(PHYSICAL_CLUSTER_ID)
    assert (
        stage.play()
        >> client_sends(ASK, version)
        << to_broker(ASK)
        >> broker_answers(messages.DescribeClusterResponse(cluster_id=PHYSICAL_CLUSTER_ID))
        << to_client(messages.DescribeClusterResponse(cluster_id=own))
    )


@pytest.mark.parametrize("cluster_id", [None, ""])
def test_where_the_broker_gives_none_there_is_none(stage: Stage, cluster_id: str | None) -> None:
    assert (
        stage.play()
        >> client_sends(metadata())
        << to_broker(metadata())
        >> broker_answers(messages.MetadataResponse(cluster_id=cluster_id))
        << to_client(messages.MetadataResponse(cluster_id=cluster_id))
    )
