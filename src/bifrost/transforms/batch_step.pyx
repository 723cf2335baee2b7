# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a transform does to a batch where there is nothing to decide: one compiled call, without an object for the batch.

A transform that has a step is asked in Python only where its step does not know what to do: a key that is not at hand, a
batch that must not pass, or anything else that is unusual. Then nothing has come of the step, and the message is handled
as without it. So a step has no error to tell and nothing to count.
"""

cimport cython

from libc.stdint cimport uintptr_t


cdef class AtHand:
    """What sources have at hand, as transforms ask for it."""
    cdef object sources

    def get(self, key, default=None):
        found = self.sources.cached(key)
        return default if found is None else found


@cython.no_gc_clear  # the budget gets its bytes back when the trip goes
cdef class BatchTrip(RecordTrip):
    """The trip of one message, with what its steps need."""

    def __dealloc__(self):
        if self.budget is not None:
            self.budget.give_back(self.taken)

    cdef object answer_to(self, object key):
        """Return what is known of a key, None if nothing is."""
        found = self.answers.get(<uintptr_t><void*>key)
        if found is None:
            answer = self.sources.cached(key)
            if answer is None:
                return None
            found = self.answers[<uintptr_t><void*>key] = (key, answer)
        return (<tuple>found)[1]

    cdef object at_hand(self):
        """Return what a transform may ask of what sources have at hand."""
        cdef AtHand known
        if self.known is None:
            known = AtHand.__new__(AtHand)
            known.sources = self.sources
            self.known = known
        return self.known

    cdef uint8_t* new_batch(self, Py_ssize_t size) except NULL:
        """Return memory for the batch that a step makes.

        Raises:
            TooLarge, NoRoom: it comes to more than the message may have.
        """
        cdef uint8_t* data
        self.budget.take(size)
        self.taken += size
        return self.room(size)


cdef class BatchStep:
    """What one transform does to the batches of one partition. This one does not know what to do with any."""

    def __cinit__(self):
        self.cost = 1

    cdef bint take(self, Batch* batch, BatchTrip trip) except -1:
        """Take a whole batch, whose checksum was compared, one step on; False: its transform has to look at it.

        Only a step that `makes_batches` puts another batch in its place, made in memory of `new_batch`; there is one in a
        chain at the most.

        Raises:
            RecordsError: it cannot be taken on; then its transform has to look at it as well, and says why.
        """
        return False
