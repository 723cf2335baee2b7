"""Filters of records: Produce, Fetch and ShareFetch of topics that a tenant's filters are for, batch by batch.

ListOffsets as well, for topics whose timestamps a broker does not see.

What is not obvious here:

* A request or answer comes here only when the engine does not know one of its topics: `RecordTopics` gives the engine a
  table of the names that no filter is for. So all other topics take the engine's way, and cost what they cost without
  filters. In a message that has both, the records of the others keep their bytes.
* A topic whose transforms all have compiled steps has a way in that table (`topic_way.pyx`): its messages stay on the
  engine's way as long as the steps have no question. The filters see only what a step has not let pass, so a way must
  be as strict as they are.
* The modules are loaded where a tenant has filters.
"""
