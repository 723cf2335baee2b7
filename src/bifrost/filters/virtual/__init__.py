"""Virtual partitions: requests and answers about topics that show more partitions than the brokers have.

What is not obvious here:

* As with filters of records, a message comes here only when the engine does not know one of its topics: `VirtualTopics`
  gives it tables without the topics that have virtual partitions. Messages about other topics cost what they cost
  without them.
* Requests that name partitions are divided by group: within a group each virtual partition has a physical one of its
  own. A broker collapses two entries of one partition in a Produce, and would store one of them alone.
* These filters stand next to the broker: all others see virtual partitions.
"""
