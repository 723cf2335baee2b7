"""The processes that read large records under their schemas: in each gateway process one for each filter of a tenant.

What is not obvious here:

* A record that ends its process is not valid: it took the time or memory of many. Where several were read together,
  each is read once more by itself, so that none is refused for another.
* Few processes run at a time, whichever tenants they are for, and one without work ends after a while.
"""
