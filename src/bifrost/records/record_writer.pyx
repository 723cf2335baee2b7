# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Encodes records of the gateway's own; record_batch.py makes batches of them.

    record:  length varint, attributes int8, timestamp_delta varint, offset_delta varint,
             key length varint (-1: null) and key, value length varint and value, count of headers varint
    Every varint here is signed, in zigzag form.

Source: Kafka's DefaultRecord.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_SIZE
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint64_t

from bifrost.wire.output cimport Output, extend, open_output, put, take

cdef int put_zigzag(Output* out, int64_t value) except -1:
    cdef uint64_t left = <uint64_t>value << 1 ^ <uint64_t>(value >> 63)
    while left >= 0x80:
        extend(out, 1)[0] = <uint8_t>(left | 0x80)
        left >>= 7
    extend(out, 1)[0] = <uint8_t>left
    return 0

cdef int put_field(Output* out, bytes field) except -1:
    if field is None:
        return put_zigzag(out, -1)
    put_zigzag(out, PyBytes_GET_SIZE(field))
    return put(out, PyBytes_AS_STRING(field), PyBytes_GET_SIZE(field))

def encode_records(list records not None, int64_t base_timestamp):
    cdef Output out, one
    cdef Py_ssize_t i
    open_output(&out)
    open_output(&one)
    try:
        for i in range(PyList_GET_SIZE(records)):
            timestamp, key, value = records[i]
            one.size = 0
            extend(&one, 1)[0] = 0
            put_zigzag(&one, <int64_t>timestamp - base_timestamp)
            put_zigzag(&one, i)
            put_field(&one, key)
            put_field(&one, value)
            put_zigzag(&one, 0)
            put_zigzag(&out, one.size)
            put(&out, one.data, one.size)
        return take(&out)
    finally:
        Py_XDECREF(out.heap)
        Py_XDECREF(one.heap)
