"""The exchange between gateways that have the budgets of quotas together: records, members and shares. No I/O.

What is not obvious here:

* All gateways write to one partition and read it, so all decide by the same records in the same order. Each computes
  the shares of all by the same function, and takes its own.
* There is no comparison of clocks. A member is gone when this gateway has read its own records for a while, and none of
  that member between them. A gateway that is cut off reads none of its own, so it takes no other for gone.
* A share grows only into what the others have published that they no longer have, and only while the gateway reads its
  own records. So a gateway that is cut off goes on with the shares that it has.
"""
