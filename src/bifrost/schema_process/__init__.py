"""The process that reads large records under their schemas, and what the gateway tells it.

What is not obvious here:

* The libraries that read JSON, Protobuf and rules take a payload whole. In the process with connections all of them
  would wait meanwhile; here each record has its own time and memory, and a library that crashes takes nothing with it.
* The process ends by a signal when a record takes too much time (SIGPROF) or memory. So it is in the middle of nothing
  afterwards, and the gateway starts another one.
"""
