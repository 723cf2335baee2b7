from bifrost.gateway.admin.partition_metrics import partition_metrics
from bifrost.tenancy.virtual_partitions.partition_rules import NUMBERS


def test_each_number_has_its_metric() -> None:
    counts = [(("acme", number), place) for place, number in enumerate(NUMBERS, 1)]
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in filter(None, partition_metrics(counts, [("acme", 19)]))
        for sample in metric.samples
    }

    assert found == {
        ("kafka_proxy_virtual_partition_requests_total", "acme"): 1,
        ("kafka_proxy_virtual_partition_fetched_bytes_total", "acme", "own"): 2,
        ("kafka_proxy_virtual_partition_fetched_bytes_total", "acme", "others"): 3,
        ("kafka_proxy_virtual_partition_refused_batches_total", "acme"): 4,
        ("kafka_proxy_virtual_partition_scanned_bytes_total", "acme"): 5,
        ("kafka_proxy_partitions_remapped_total", "acme"): 6,
        ("kafka_proxy_virtual_partition_shared_fetches_total", "acme"): 7,
        ("kafka_proxy_virtual_partition_shared_bytes_total", "acme", "own"): 8,
        ("kafka_proxy_virtual_partition_shared_bytes_total", "acme", "others"): 9,
        ("kafka_proxy_virtual_partition_kept_offset_groups_total", "acme"): 10,
        ("kafka_proxy_virtual_partition_expired_offsets_total", "acme"): 11,
        ("kafka_proxy_virtual_partition_offset_upkeep_failures_total", "acme"): 12,
        ("kafka_proxy_virtual_partition_index_scanned_bytes_total", "acme"): 13,
        ("kafka_proxy_virtual_partition_index_records_total", "written"): 14,
        ("kafka_proxy_virtual_partition_index_records_total", "not_written"): 15,
        ("kafka_proxy_virtual_partition_index_records_total", "read"): 16,
        ("kafka_proxy_virtual_partition_index_records_total", "unreadable"): 17,
        ("kafka_proxy_virtual_partition_index_records_total", "distrusted"): 18,
        ("kafka_proxy_virtual_partition_recent_bytes", "acme"): 19,
    }
