# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Encodes records of the gateway's own; record_batch.py makes batches of them.

    record:  length varint, attributes int8, timestamp_delta varint, offset_delta varint,
             key length varint (-1: null) and key, value length varint and value, count of headers varint
    Every varint here is signed, in zigzag form.

Source: Kafka's DefaultRecord; RFC 3720, appendix B.4, for CRC-32C.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_SIZE
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bifrost.wire.output cimport Output, extend, open_output, put, take

cdef uint32_t CRC_TABLE[256]

cdef void fill_crc_table() noexcept:
    cdef uint32_t crc
    cdef int i, bit
    for i in range(256):
        crc = i
        for bit in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        CRC_TABLE[i] = crc

fill_crc_table()

def crc32c(data):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Py_ssize_t i
    cdef uint32_t crc = 0xFFFFFFFF
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    p = <const uint8_t*>view.buf
    for i in range(view.len):
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ p[i]) & 0xFF]
    PyBuffer_Release(&view)
    return crc ^ 0xFFFFFFFF

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
