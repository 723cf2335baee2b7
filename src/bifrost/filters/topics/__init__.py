"""Filters for requests that create, delete or describe topics.

What is not obvious here:

* Some APIs check the form of a topic's name where most only look it up. In Metadata and DescribeTopicPartitions the
  impossible name gives INVALID_TOPIC_EXCEPTION, which their filters turn into the UNKNOWN_TOPIC_OR_PARTITION of a
  legal one. The config APIs, DescribeProducers and the topology of a streams group quote it as well: there a legal
  name with a random part stands for it.
"""
