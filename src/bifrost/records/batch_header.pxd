"""Where the fields of a record batch stand, format v2 (Kafka's DefaultRecordBatch), and bits of its attributes."""

cdef enum:
    LENGTH_AT = 8
    UNCOUNTED = 12         # bytes of the batch that its length does not count
    MAGIC_AT = 16
    CRC_AT = 17
    CRC_FROM = 21          # from here on the checksum covers the batch
    ATTRIBUTES_AT = 21
    LAST_OFFSET_DELTA_AT = 23
    BASE_TIMESTAMP_AT = 27
    MAX_TIMESTAMP_AT = 35
    PRODUCER_ID_AT = 43
    PRODUCER_EPOCH_AT = 51
    SEQUENCE_AT = 53
    COUNT_AT = 57
    HEADER = 61            # bytes of the batch before its records
    CODEC = 0x07
    CONTROL = 0x20
