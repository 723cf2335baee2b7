# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Parses the journal's JSON into columns: a page of rows at a time, by the journal's schema, without an object for a value.

A row that is not written as a gateway writes it is `odd`: a value of another type, a number with a fraction, a field given
twice, a null in a list, text behind the object, bytes that are no UTF-8. Nothing is decided about such a row here; Spark
reads it and says what is wrong with it, if anything is. So this parser only has to agree with Spark on plain rows.

    node          a field of the schema; node 0 is the record
    axis          what the values of a node are counted by: rows (axis 0), or the elements of a list or map
    values        of each index on the axis: a number, the code of a string in its node's dictionary, the length of a list
    valid         of each index on the axis: 1 if a value is there

Source: RFC 8259; Spark's JacksonParser for what is equal and what is left to it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memset

from bifrost.pipeline.metering.json_text cimport (
    NO_MEMORY, ODD, OK, Cursor, peek, read_escape, read_number, read_plain, skip_value, take, take_word,
)
from bifrost.pipeline.metering.words cimport Words, clear_words, find_word, free_words, is_word

STRUCT, STRING, LONG, INTEGER, BOOLEAN, LIST, MAP = range(7)

cdef enum:
    K_STRUCT = 0
    K_STRING = 1
    K_LONG = 2
    K_INTEGER = 3
    K_BOOLEAN = 4
    K_LIST = 5
    K_MAP = 6

    FIRST_ELEMENTS = 1024

cdef struct Node:
    int kind
    int first                # of its children, which have neighbouring numbers
    int children
    int axis
    const char* name
    int name_size
    int width                # bytes of a value
    uint8_t* values
    uint8_t* valid
    int64_t valid_count
    Words words

cdef struct Axis:
    int64_t size
    int64_t capacity

cdef int* WIDTHS = [1, 4, 8, 4, 1, 4, 4]


cdef class JournalParser:
    """Parses up to `capacity` rows; `page` gives them as columns and begins anew."""

    cdef Node* nodes
    cdef Axis* axes
    cdef int node_count, axis_count
    cdef uint64_t seed
    cdef uint8_t* odd
    cdef uint8_t* scratch
    cdef int64_t scratch_size
    cdef int tenant
    cdef list names

    def __cinit__(self, tuple fields, int64_t capacity, uint64_t seed):
        cdef list flat = [("", K_STRUCT, fields, 0)], placed = []
        cdef int at = 0
        axes = 1
        while at < len(flat):
            name, kind, children, axis = flat[at]
            at += 1
            if kind == K_LIST or kind == K_MAP:
                inner = axes
                axes += 1
            else:
                inner = axis
            placed.append((name.encode(), kind, len(flat), len(children), axis))
            flat.extend((one[0], one[1], one[2], inner) for one in children)
        self.names = [one[0] for one in placed]
        self.seed, self.node_count, self.axis_count = seed, len(placed), axes
        self.nodes = <Node*>calloc(len(placed), sizeof(Node))
        self.axes = <Axis*>calloc(axes, sizeof(Axis))
        self.odd = <uint8_t*>calloc(capacity, 1)
        if self.nodes == NULL or self.axes == NULL or self.odd == NULL:
            raise MemoryError
        self.tenant = -1
        for at in range(self.node_count):
            name, kind, first, count, axis = placed[at]
            node = &self.nodes[at]
            node.kind, node.first, node.children, node.axis = kind, first, count, axis
            node.name, node.name_size, node.width = self.names[at], len(name), WIDTHS[<int>kind]
            node.words.last = -1
            if name == b"tenant" and at <= self.nodes[0].children:
                self.tenant = at
        for at in range(axes):
            if grow(self.nodes, self.node_count, self.axes, at, FIRST_ELEMENTS if at else capacity) != OK:
                raise MemoryError

    def __dealloc__(self):
        cdef int at
        if self.nodes != NULL:
            for at in range(self.node_count):
                free(self.nodes[at].values)
                free(self.nodes[at].valid)
                free_words(&self.nodes[at].words)
        free(self.nodes)
        free(self.axes)
        free(self.odd)
        free(self.scratch)

    @property
    def room(self):
        """The rows that the page still has room for."""
        return self.axes[0].capacity - self.axes[0].size

    def parse(self, values, keys, int64_t begin, int64_t end):
        """Parse rows `begin` to `end`, no more than there is room for.

        Args:
            values: offsets (int32) and bytes of the rows' texts.
            keys: offsets (int32) and bytes of the keys of their records; a row under another key than its tenant is odd.
        Raises:
            MemoryError: there is no memory for the page.
        """
        cdef Py_buffer views[4]
        cdef int held = 0, status = OK, which
        if begin < 0 or end < begin or end - begin > self.axes[0].capacity - self.axes[0].size:
            raise ValueError(f"{end - begin} rows, room for {self.room}")
        try:
            for one in (*values, *keys):
                PyObject_GetBuffer(one, &views[held], PyBUF_SIMPLE)
                held += 1
            for which in (0, 2):
                if views[which].len < (end + 1) * <int64_t>sizeof(int32_t):
                    raise ValueError("offsets are missing")
                if end > begin and (<int32_t*>views[which].buf)[end] > views[which + 1].len:
                    raise ValueError("bytes are missing")
            with nogil:
                status = self.parse_rows(
                    <int32_t*>views[0].buf, <uint8_t*>views[1].buf, <int32_t*>views[2].buf, <uint8_t*>views[3].buf,
                    begin, end,
                )
        finally:
            while held:
                held -= 1
                PyBuffer_Release(&views[held])
        if status == NO_MEMORY:
            raise MemoryError

    cdef int parse_rows(self, const int32_t* offsets, const uint8_t* text, const int32_t* key_offsets,
                        const uint8_t* keys, int64_t begin, int64_t end) noexcept nogil:
        cdef Cursor c
        cdef Node* tenant
        cdef int64_t row, at
        cdef int status
        for row in range(begin, end):
            at = self.axes[0].size
            self.axes[0].size += 1
            c.at, c.end = text + offsets[row], text + offsets[row + 1]
            status = ODD
            if peek(&c) == 123:
                status = self.read_value(&self.nodes[0], at, &c)
            if status == OK and peek(&c) != 0:
                status = ODD
            if status == OK and c.at != c.end:
                status = ODD
            if status == OK and self.tenant >= 0:
                tenant = &self.nodes[self.tenant]
                if tenant.valid[at]:
                    if not is_word(&tenant.words, (<int32_t*>tenant.values)[at], keys + key_offsets[row],
                                   key_offsets[row + 1] - key_offsets[row]):
                        status = ODD
                elif key_offsets[row + 1] != key_offsets[row]:
                    status = ODD
            if status == NO_MEMORY:
                return status
            self.odd[at] = status != OK
        return OK

    cdef int read_value(self, Node* node, int64_t at, Cursor* c) noexcept nogil:
        """Read a value of a node into its place."""
        cdef uint8_t first = peek(c)
        cdef int64_t number
        cdef int status
        if node.valid[at]:
            return ODD
        if first == 110:
            return OK if take_word(c, b"null", 4) else ODD
        if node.kind == K_STRING:
            status = self.read_string(node, at, c)
            if status != OK:  # its code may be none of the dictionary, so there is no value
                return status
        node.valid[at] = 1
        node.valid_count += 1
        if node.kind == K_STRING:
            return OK
        if node.kind == K_LONG or node.kind == K_INTEGER:
            if read_number(c, &number) != OK:
                return ODD
            if node.kind == K_LONG:
                (<int64_t*>node.values)[at] = number
            elif -0x80000000 <= number <= 0x7FFFFFFF:
                (<int32_t*>node.values)[at] = <int32_t>number
            else:
                return ODD
            return OK
        if node.kind == K_BOOLEAN:
            if take_word(c, b"true", 4):
                node.values[at] = 1
                return OK
            return OK if take_word(c, b"false", 5) else ODD
        c.at += 1
        if node.kind == K_STRUCT:
            return self.read_struct(node, at, c) if first == 123 else ODD
        if node.kind == K_LIST:
            return self.read_list(node, at, c) if first == 91 else ODD
        return self.read_map(node, at, c) if first == 123 else ODD

    cdef int read_struct(self, Node* node, int64_t at, Cursor* c) noexcept nogil:
        cdef int expected = 0, child, status
        if take(c, 125):
            return OK
        while True:
            if not take(c, 34):
                return ODD
            child = self.child_of(node, expected, c)
            if child < -1 or not take(c, 58):
                return ODD
            if child < 0:
                status = skip_value(c, 0)
            else:
                expected = child + 1
                status = self.read_value(&self.nodes[node.first + child], at, c)
            if status != OK:
                return status
            if take(c, 125):
                return OK
            if not take(c, 44):
                return ODD

    cdef inline int child_of(self, Node* node, int expected, Cursor* c) noexcept nogil:
        """Return the child with the name that follows: -1 if there is none, -2 if the name is odd.

        A gateway writes the fields in the schema's order and leaves out some, so the search begins behind the last one.
        """
        cdef int64_t left = c.end - c.at
        cdef int i, child
        cdef Node* one
        cdef bint is_ascii
        for i in range(node.children):
            child = expected + i
            if child >= node.children:
                child -= node.children
            one = &self.nodes[node.first + child]
            if one.name_size < left and c.at[one.name_size] == 34 and memcmp(c.at, one.name, one.name_size) == 0:
                c.at += one.name_size + 1
                return child
        # A name of Spark's own column for what it cannot read is for Spark.
        if left > 0 and c.at[0] == 95:
            return -2
        if read_plain(c, &is_ascii) != OK or c.at[0] != 34 or not is_ascii:
            return -2
        c.at += 1
        return -1

    cdef int read_string(self, Node* node, int64_t at, Cursor* c) noexcept nogil:
        cdef const uint8_t* begin
        cdef bint is_ascii
        cdef int64_t size
        cdef int status
        if not take(c, 34):
            return ODD
        begin = c.at
        if read_plain(c, &is_ascii) != OK:
            return ODD
        if c.at[0] == 34:
            size = c.at - begin
            c.at += 1
            return find_word(&node.words, begin, size, is_ascii, self.seed, <int32_t*>node.values + at)
        c.at = begin
        size = 0
        status = self.read_escaped(c, &size)
        if status != OK:
            return status
        return find_word(&node.words, self.scratch, size, False, self.seed, <int32_t*>node.values + at)

    cdef int read_escaped(self, Cursor* c, int64_t* size) noexcept nogil:
        """Read a string with escapes into the scratch memory; an escaped surrogate is odd."""
        cdef int64_t most = c.end - c.at
        cdef void* larger
        cdef uint8_t byte
        if most > self.scratch_size:
            larger = realloc(self.scratch, most)
            if larger == NULL:
                return NO_MEMORY
            self.scratch, self.scratch_size = <uint8_t*>larger, most
        while c.at < c.end:
            byte = c.at[0]
            c.at += 1
            if byte == 34:
                return OK
            if byte < 32:
                return ODD
            if byte != 92:
                self.scratch[size[0]] = byte
                size[0] += 1
            elif read_escape(c, self.scratch, size) != OK:
                return ODD
        return ODD

    cdef int read_list(self, Node* node, int64_t at, Cursor* c) noexcept nogil:
        cdef int64_t element
        cdef int status
        if take(c, 93):
            return OK
        while True:
            element = self.add_element(node, at)
            if element < 0:
                return NO_MEMORY
            status = self.read_value(&self.nodes[node.first], element, c)
            if status != OK:
                return status
            if not self.nodes[node.first].valid[element]:
                return ODD
            if take(c, 93):
                return OK
            if not take(c, 44):
                return ODD

    cdef int read_map(self, Node* node, int64_t at, Cursor* c) noexcept nogil:
        cdef int64_t first = self.axes[self.nodes[node.first].axis].size, element, i
        cdef int32_t* codes
        cdef int status
        if take(c, 125):
            return OK
        while True:
            element = self.add_element(node, at)
            if element < 0:
                return NO_MEMORY
            status = self.read_value(&self.nodes[node.first], element, c)
            if status == OK and not take(c, 58):
                status = ODD
            if status == OK:
                status = self.read_value(&self.nodes[node.first + 1], element, c)
            if status != OK:
                return status
            if not self.nodes[node.first].valid[element] or not self.nodes[node.first + 1].valid[element]:
                return ODD
            codes = <int32_t*>self.nodes[node.first].values
            for i in range(first, element):
                if codes[i] == codes[element]:
                    return ODD
            if take(c, 125):
                return OK
            if not take(c, 44):
                return ODD

    cdef int64_t add_element(self, Node* node, int64_t at) noexcept nogil:
        """Return the place of a new element of a list or map, or -1."""
        cdef int axis = self.nodes[node.first].axis
        cdef Axis* one = &self.axes[axis]
        if one.size == one.capacity and grow(self.nodes, self.node_count, self.axes, axis, one.capacity * 2) != OK:
            return -1
        (<int32_t*>node.values)[at] += 1
        one.size += 1
        return one.size - 1

    def page(self):
        """Return what was parsed, and begin a new page.

        Returns:
            Whether each row is odd (a byte each), and for each node its kind, the numbers of its children, how many values
            it could have and has, their bytes, a byte for each that says whether it is there, and for strings the ends
            (int32) and the bytes of the different ones.
        """
        cdef int at
        cdef Node* node
        cdef Words* words
        cdef int64_t size
        odd = PyBytes_FromStringAndSize(<char*>self.odd, self.axes[0].size)
        nodes = []
        for at in range(self.node_count):
            node, size = &self.nodes[at], self.axes[self.nodes[at].axis].size
            words = &node.words
            nodes.append((
                self.names[at].decode(), node.kind, range(node.first, node.first + node.children), size, node.valid_count,
                PyBytes_FromStringAndSize(<char*>node.values, size * node.width),
                PyBytes_FromStringAndSize(<char*>node.valid, size),
                PyBytes_FromStringAndSize(<char*>words.ends, words.count * sizeof(int32_t)),
                PyBytes_FromStringAndSize(<char*>words.text, words.text_size),
            ))
            memset(node.values, 0, size * node.width)
            memset(node.valid, 0, size)
            clear_words(words)
            node.valid_count = 0
        for at in range(self.axis_count):
            self.axes[at].size = 0
        return odd, nodes


cdef int grow(Node* nodes, int count, Axis* axes, int axis, int64_t capacity) noexcept nogil:
    """Give all nodes of an axis room for more values; new ones are 0."""
    cdef int64_t before = axes[axis].capacity
    cdef Node* node
    cdef void* larger
    cdef int at
    for at in range(count):
        node = &nodes[at]
        if node.axis != axis:
            continue
        larger = realloc(node.values, capacity * node.width)
        if larger == NULL:
            return NO_MEMORY
        node.values = <uint8_t*>larger
        memset(node.values + before * node.width, 0, (capacity - before) * node.width)
        larger = realloc(node.valid, capacity)
        if larger == NULL:
            return NO_MEMORY
        node.valid = <uint8_t*>larger
        memset(node.valid + before, 0, capacity - before)
    axes[axis].capacity = capacity
    return OK
