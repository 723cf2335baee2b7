# cython: language_level=3, boundscheck=False, wraparound=False
"""Learns from libuv when a connection's socket can be read or written, without Python code in between.

    libuv ──▶ Watched.ready          uvloop's own way: UVPoll ──▶ Handle, in its context ──▶ bound method ──▶ here

uvloop's `add_reader` makes five objects for each socket, and takes a microsecond and a half to call a callback; here a
socket has one block of memory until it is closed. Under another event loop `add_reader` and `add_writer` do the same.

uvloop knows nothing of these handles, and an event loop with open handles does not close. So those that are still open
are closed when it ends (`LoopEnd`).
Source: uv_poll_t of libuv (src/unix/poll.c). uvloop exports libuv's functions.
"""

from weakref import WeakKeyDictionary

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF

import uvloop.loop

from bifrost.gateway.loop.loop_end import LoopEnd

cdef extern from *:
    """
    #include <dlfcn.h>
    #include <stdlib.h>
    #include <string.h>
    #ifdef __linux__
    #include <sys/epoll.h>
    #endif

    #define UV_POLL_TYPE 8        /* enum uv_handle_type, part of libuv's ABI */

    struct watch {
        PyObject *owner;            /* counted as a reference while it waits for events; NULL: it is gone */
        void *loop;
        struct watch *next, **at;   /* in the list of its event loop */
        int fd;
        void *uv[];                 /* a uv_poll_t, as large as libuv says */
    };

    static struct {
        size_t size;
        int (*init)(void *, void *, int);
        int (*start)(void *, int, void (*)(void *, int, int));
        int (*stop)(void *);
        void (*close)(void *, void (*)(void *));
        int (*backend_fd)(void *);
    } uv;

    static struct watch *watch_of(void *handle) {
        return (struct watch *)((char *)handle - offsetof(struct watch, uv));
    }

    static int find_libuv(const char *path) {
        if (uv.size) return 0;
        void *lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (!lib) return -1;
        size_t (*size)(int) = (size_t (*)(int))dlsym(lib, "uv_handle_size");
        uv.init = (int (*)(void *, void *, int))dlsym(lib, "uv_poll_init");
        uv.start = (int (*)(void *, int, void (*)(void *, int, int)))dlsym(lib, "uv_poll_start");
        uv.stop = (int (*)(void *))dlsym(lib, "uv_poll_stop");
        uv.close = (void (*)(void *, void (*)(void *)))dlsym(lib, "uv_close");
        uv.backend_fd = (int (*)(void *))dlsym(lib, "uv_backend_fd");
        if (!size || !uv.init || !uv.start || !uv.stop || !uv.close || !uv.backend_fd) return -1;
        uv.size = size(UV_POLL_TYPE);
        return 0;
    }

    static void on_closed(void *handle) { free(watch_of(handle)); }

    static struct watch *open_watch(void *loop, int fd, struct watch **first, int *error) {
        struct watch *w = calloc(1, sizeof *w + uv.size);
        if (!w) return NULL;
        if ((*error = uv.init(loop, w->uv, fd)) < 0) {
            free(w);
            return NULL;
        }
        w->loop = loop, w->fd = fd, w->next = *first, w->at = first;
        if (*first) (*first)->at = &w->next;
        *first = w;
        return w;
    }

    static void close_watch(struct watch *w) {
        *w->at = w->next;
        if (w->next) w->next->at = w->at;
        uv.close(w->uv, on_closed);
    }

    static int start_watch(struct watch *w, int events, void (*call)(void *, int, int)) {
        return uv.start(w->uv, events, call);
    }

    static void pause_watch(struct watch *w) {
        uv.stop(w->uv);
    #ifdef __linux__
        /* libuv may leave it in the epoll set: https://github.com/MagicStack/uvloop/issues/61 */
        struct epoll_event none;
        memset(&none, 0, sizeof none);
        epoll_ctl(uv.backend_fd(w->loop), EPOLL_CTL_DEL, w->fd, &none);
    #endif
    }
    """
    watch* watch_of(void* handle) nogil
    int find_libuv(const char* path)
    watch* open_watch(void* loop, int fd, watch** first, int* error)
    void close_watch(watch* w)
    int start_watch(watch* w, int events, void (*call)(void*, int, int) noexcept)
    void pause_watch(watch* w)


cdef class Watches:
    """The watches of an event loop, which end with it."""

    cdef watch* first
    cdef void* uv_loop
    cdef object end
    cdef bint has_ended

    def __init__(self, loop):
        path = uvloop.loop.__file__.encode()
        if find_libuv(path) < 0:
            raise RuntimeError(f"uvloop {uvloop.__version__} does not export libuv's functions")
        capsule = uvloop.loop.libuv_get_loop_t_ptr(loop)
        self.uv_loop = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
        self.end = LoopEnd(self.end_all)

    cdef watch* open(self, Watched owner) except NULL:
        cdef int error = 0
        cdef watch* made
        if self.has_ended:
            raise RuntimeError("the event loop ends")
        made = open_watch(self.uv_loop, owner.fd, &self.first, &error)
        if made == NULL:
            raise OSError(-error, "libuv cannot watch the socket") if error else MemoryError()
        made.owner = <PyObject*>owner
        return made

    def end_all(self):
        """Close what is still open."""
        cdef Watched owner
        self.has_ended = True
        while self.first != NULL:
            if self.first.owner != NULL:
                owner = <Watched>self.first.owner
                owner.stop_waiting()
            else:
                close_watch(self.first)
        self.end = None


_of_loops = WeakKeyDictionary()


cdef Watches watches_of(loop):
    """Return the watches of an event loop; None: it is not uvloop's."""
    found = _of_loops.get(loop)
    if found is None and isinstance(loop, uvloop.loop.Loop):
        found = _of_loops[loop] = Watches(loop)
    return found


cdef void on_events(void* handle, int status, int events) noexcept with gil:
    cdef watch* w = watch_of(handle)
    if w.owner != NULL:
        tell(<Watched>w.owner, status, events)

cdef int tell(Watched owner, int status, int events) noexcept:
    try:
        if status < 0:
            # The socket has an error, which reading or writing it will say. libuv has stopped the handle.
            events = owner.events
            owner.start(events)
        owner.ready(events)
    except Exception as error:
        owner.loop.call_exception_handler({"message": "Exception where a socket was ready", "exception": error})
    except BaseException as error:
        owner.loop.call_soon(_raise, error)
    return 0

def _raise(error):
    raise error


cdef class Watched(Outlet):
    def __dealloc__(self):
        if self.watching != NULL:
            self.watching.owner = NULL    # It was never closed: its watch stays until the event loop ends.

    cdef int wait_for(self, int events) except -1:
        """Be told from now on when one of these events comes, and of no other; 0: of none."""
        cdef int before = self.events
        cdef Watches watches
        if events == before:
            return 0
        if self.watching == NULL:
            watches = watches_of(self.loop)
            if watches is None:
                return self.wait_by_asyncio(events)
            self.watching = watches.open(self)
        if events:
            return self.start(events)
        self.events = 0
        pause_watch(self.watching)
        Py_DECREF(self)
        return 0

    cdef int start(self, int events) except -1:
        cdef int error = start_watch(self.watching, events, on_events)
        if error < 0:
            raise OSError(-error, "libuv cannot watch the socket")
        if not self.events:
            Py_INCREF(self)
        self.events = events
        return 0

    cdef int wait_by_asyncio(self, int events) except -1:
        cdef int changed = self.events ^ events
        self.events = events
        if changed & READABLE:
            if events & READABLE:
                self.loop.add_reader(self.fd, self.on_readable)
            else:
                self.loop.remove_reader(self.fd)
        if changed & WRITABLE:
            if events & WRITABLE:
                self.loop.add_writer(self.fd, self.on_writable)
            else:
                self.loop.remove_writer(self.fd)
        return 0

    cdef int stop_waiting(self) except -1:
        """Wait for nothing any more. The socket must still be open: afterwards its number may be another's."""
        cdef watch* closed = self.watching
        self.wait_for(0)
        self.watching = NULL
        if closed != NULL:
            close_watch(closed)
        return 0

    def on_readable(self):
        self.ready(READABLE)

    def on_writable(self):
        self.ready(WRITABLE)

    cdef int ready(self, int events) except -1:
        """Read or write, whichever the socket can now."""
        return 0
