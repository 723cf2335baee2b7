"""Namespaces of a tenant (KIP-37): their paths, the tree that they make, and changes of it. No I/O.

What is not obvious here:

* A topic that was moved or is shared keeps its physical name, so who sees it, and as what, `TenantNames` asks
  `AliasedNames` before the prefix decides.
* A change of the tree also writes the namespace above anew, with what it had: otherwise one writer could delete a
  namespace while another one, that relies on it, creates one in it.
"""
