# cython: language_level=3, boundscheck=False, wraparound=False
"""Measures in C how long each turn of uvloop's event loop takes, without waking it.

libuv's turn:  timers ─ callbacks ─ **prepare** ─ wait for events ─ I/O callbacks ─ **check** ─ closing ─ (timers …)

The loop's own time (`uv_now`) is taken when the wait ends, so the check handle learns when the work began, and the next
prepare handle sees how long it took. The thread's CPU time is read as well, once a millisecond at most. Both handles
are C functions that cost about 50 ns a turn; a loop that waits runs neither.
Source: uv_run and uv__io_poll of libuv (src/unix/core.c, src/unix/linux.c). uvloop exports libuv's functions.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int64_t

import uvloop.loop

from bifrost.gateway.loop.loop_turn cimport LoopTurn, turn_of

cdef extern from *:
    """
    #include <dlfcn.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <time.h>

    #define HANDLE_BYTES 512      /* libuv needs 120 */
    #define UV_CHECK_TYPE 2       /* enum uv_handle_type, part of libuv's ABI */
    #define UV_PREPARE_TYPE 9
    #define MS_NS 1000000
    #define LEAST_STALL_NS (2 * MS_NS)
    #define CPU_LOOK_NS MS_NS     /* the thread's CPU time is a system call: read it once a millisecond at most */

    struct watch;
    struct watched_handle { char uv[HANDLE_BYTES]; struct watch *owner; };

    struct watch {
        struct watched_handle check, prepare;
        void *loop;
        uint64_t (*now_ms)(void *);
        uint64_t (*now_ns)(void);
        int (*stop_check)(void *), (*stop_prepare)(void *);
        void (*close)(void *, void (*)(void *));
        int64_t *counts, *marks;      /* counts: sum, then buckets; marks: see LoopWatch */
        const int64_t *bounds_ns;
        int n_bounds, open;
        int64_t turns;                /* how many have ended */
        uint64_t began_ns, prepared_ns, cpu_ns, looked_ns;
    };

    static uint64_t thread_cpu_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }

    static void note_stall(struct watch *w, int64_t wall_ns, int64_t cpu_ns) {
        int i = 0;
        while (i < w->n_bounds && wall_ns > w->bounds_ns[i]) i++;
        w->counts[0] += wall_ns;
        w->counts[1 + i]++;
        for (int k = 0; k < 2; k++) {
            if (wall_ns > w->marks[k]) w->marks[k] = wall_ns;
            if (cpu_ns > w->marks[2 + k]) w->marks[2 + k] = cpu_ns;
        }
    }

    static void on_check(void *handle) {
        struct watch *w = ((struct watched_handle *)handle)->owner;
        /* In whole milliseconds, and perhaps by the kernel's coarse clock: on average a millisecond too early. */
        w->began_ns = (w->now_ms(w->loop) + 1) * MS_NS;
    }

    static void on_prepare(void *handle) {
        struct watch *w = ((struct watched_handle *)handle)->owner;
        uint64_t now_ns = w->now_ns();
        if (now_ns - w->looked_ns >= CPU_LOOK_NS) {
            uint64_t cpu_ns = thread_cpu_ns();
            int64_t used_ns = (int64_t)(cpu_ns - w->cpu_ns);
            /* Short turns before this one may have used a part of it. */
            if (used_ns > (int64_t)(now_ns - w->prepared_ns)) used_ns = (int64_t)(now_ns - w->prepared_ns);
            int64_t wall_ns = w->began_ns && now_ns > w->began_ns ? (int64_t)(now_ns - w->began_ns) : 0;
            /* Code that asks asyncio for the time within a turn advances the loop's time; CPU time is not affected. */
            if (now_ns - w->prepared_ns >= LEAST_STALL_NS && (used_ns >= LEAST_STALL_NS || wall_ns >= LEAST_STALL_NS))
                note_stall(w, wall_ns > used_ns ? wall_ns : used_ns, used_ns);
            w->cpu_ns = cpu_ns;
            w->looked_ns = now_ns;
        }
        w->prepared_ns = now_ns;
        w->began_ns = 0;
        w->turns++;
    }

    static void on_closed(void *handle) {
        struct watch *w = ((struct watched_handle *)handle)->owner;
        if (--w->open == 0) free(w);
    }

    static struct watch *begin_watch(
        const char *path, void *loop, int64_t *counts, int64_t *marks, const int64_t *bounds_ns, int n_bounds
    ) {
        void *lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (!lib) return NULL;
        size_t (*size)(int) = (size_t (*)(int))dlsym(lib, "uv_handle_size");
        void (*unref)(void *) = (void (*)(void *))dlsym(lib, "uv_unref");
        int (*init[2])(void *, void *) = {
            (int (*)(void *, void *))dlsym(lib, "uv_check_init"),
            (int (*)(void *, void *))dlsym(lib, "uv_prepare_init"),
        };
        int (*start[2])(void *, void (*)(void *)) = {
            (int (*)(void *, void (*)(void *)))dlsym(lib, "uv_check_start"),
            (int (*)(void *, void (*)(void *)))dlsym(lib, "uv_prepare_start"),
        };
        struct watch *w = calloc(1, sizeof *w);
        if (w) {
            w->now_ms = (uint64_t (*)(void *))dlsym(lib, "uv_now");
            w->now_ns = (uint64_t (*)(void))dlsym(lib, "uv_hrtime");
            w->close = (void (*)(void *, void (*)(void *)))dlsym(lib, "uv_close");
        }
        if (!w || !size || !unref || !init[0] || !init[1] || !start[0] || !start[1] || !w->now_ms || !w->now_ns
            || !w->close || size(UV_CHECK_TYPE) > HANDLE_BYTES || size(UV_PREPARE_TYPE) > HANDLE_BYTES) {
            free(w);
            return NULL;
        }
        w->loop = loop;
        w->counts = counts, w->marks = marks, w->bounds_ns = bounds_ns, w->n_bounds = n_bounds;
        w->cpu_ns = thread_cpu_ns(), w->looked_ns = w->prepared_ns = w->now_ns();
        struct watched_handle *handles[2] = {&w->check, &w->prepare};
        void (*calls[2])(void *) = {on_check, on_prepare};
        for (int i = 0; i < 2; i++) {
            handles[i]->owner = w;
            init[i](loop, handles[i]);
            start[i](handles[i], calls[i]);
            unref(handles[i]);  /* they keep no loop alive */
            w->open++;
        }
        return w;
    }

    static void end_watch(struct watch *w) {
        w->close(&w->check, on_closed);
        w->close(&w->prepare, on_closed);
    }
    """
    cdef struct watch:
        int64_t turns
    watch* begin_watch(
        const char* path, void* loop, int64_t* counts, int64_t* marks, const int64_t* bounds_ns, int n_bounds
    )
    void end_watch(watch* w)

cdef enum:
    MARKS = 4
    NUMBER = 8    # bytes


cdef class LoopWatch:
    cdef Py_buffer counts, marks, bounds_ns    # not typed memoryviews: their code would take 100 KiB
    cdef int held
    cdef watch* running
    cdef LoopTurn turn

    def __init__(self, counts, marks, bounds_ns):
        if self.held:
            raise ValueError("the memory is held already")
        PyObject_GetBuffer(counts, &self.counts, PyBUF_WRITABLE)
        self.held = 1
        PyObject_GetBuffer(marks, &self.marks, PyBUF_WRITABLE)
        self.held = 2
        PyObject_GetBuffer(bounds_ns, &self.bounds_ns, PyBUF_SIMPLE)
        self.held = 3
        if self.counts.len < self.bounds_ns.len + 2 * NUMBER or self.marks.len < MARKS * NUMBER:
            raise ValueError("not enough memory for the stalls")

    def __dealloc__(self):
        if self.held > 0:
            PyBuffer_Release(&self.counts)
        if self.held > 1:
            PyBuffer_Release(&self.marks)
        if self.held > 2:
            PyBuffer_Release(&self.bounds_ns)

    def start(self, loop):
        if self.running != NULL or not isinstance(loop, uvloop.loop.Loop):
            return self.running != NULL
        capsule = uvloop.loop.libuv_get_loop_t_ptr(loop)
        path = uvloop.loop.__file__.encode()
        self.running = begin_watch(
            path, PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)), <int64_t*>self.counts.buf,
            <int64_t*>self.marks.buf, <const int64_t*>self.bounds_ns.buf, <int>(self.bounds_ns.len // NUMBER)
        )
        if self.running == NULL:
            return False
        self.turn = turn_of(loop)
        self.turn.follow(&self.running.turns)
        return True

    def stop(self):
        if self.running != NULL:
            self.turn.follow(NULL)
            end_watch(self.running)
            self.running = NULL
