"""A gateway of several processes: a supervisor that accepts connections, and workers that serve them.

What is not obvious here:

* Memory that workers share has no locks on the hot path: each worker writes its own row and reads all. A number has
  8 bytes and is written whole; values of several numbers (an address's failures) may be read half updated without
  harm. Only the admission of a tenant's connection takes a lock, which the kernel releases when its holder dies.
* A worker that waits for room looks again every 2 ms, because another worker's answer frees room without telling it.
  While a connection waits in another worker, each worker keeps to its part of the limit; otherwise the worker that is
  faster to take the room that it has just freed would take all of it.
* A worker does not load the configuration; the supervisor hands it over, with secrets, by a special pickler. The file
  may hold a newer, refused version, and salts of passwords must be the same in all workers, or they would tell which
  users exist.
* A supervisor starts workers from its main thread: the death signal that ends them with it follows the thread that
  started them.
* A broker may reuse a fetch session's number for another tenant and through another worker, so the owner is stored in
  memory that all workers write, not in each worker's own.
* A process loses a POSIX lock when it closes any descriptor of the locked file, so a worker opens the memory
  of the limits once and keeps it open.
"""
