"""The exchange of a running gateway with others that have the budgets of quotas together: its topic, writer and reader.

What is not obvious here:

* A gateway takes part from the moment when a tenant has a quota; before that it creates no topic.
* Of several workers one takes part for all, for their budgets are in memory that they share; when it ends, another one
  goes on under the same ID.
* A record that could not be written at once is not written later: the next one says more.
"""
