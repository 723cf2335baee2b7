"""A gateway of several processes: one that accepts connections and sees to the others, and workers that carry them.

What is not obvious here:

* Memory that workers share has no locks on the hot path: each writes its own row and reads all. A number has 8 bytes
  and is written whole; what takes several (an address's failures) bears being read half new. Only the admission of a
  tenant's connection takes a lock, one that the kernel gives back when its holder dies.
* A worker that waits for room looks again every 2 ms, because another worker's answer makes it and says nothing; and
  while anybody waits elsewhere each worker keeps to its part of the limit, or the one that is faster to take what it
  has just freed would take all.
* A worker does not load the configuration, it is handed over, secrets by a pickler made for it: what stands in the
  file may have been refused since, and salts of passwords must be the same in all workers, or they tell which users
  exist.
* A supervisor starts workers from its main thread: the death signal that ends them with it follows the thread that
  started them.
* A fetch session's number may be given out anew, to another tenant and through another worker: so its owner stands in
  memory that all write, not in each worker's own.
* A POSIX lock goes when any descriptor of its file is closed in the process that holds it, so a worker opens the
  board once and keeps it.
"""
