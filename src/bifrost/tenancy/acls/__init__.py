"""ACLs: which principal of a tenant may do what with which resource. No I/O.

What is not obvious here:

* The names in ACLs are those of the tenant, relative to all of it (`TenantNames.full_name`): clients that see only a
  namespace below it are judged by the full names.
* `AclIndex` answers for all operations at once, so a decision costs the same for one operation and for the list of
  authorized operations.
* A resource that no ACL names is open with `allow_everyone_if_no_acl_found`; one ACL for any principal closes it for
  all others. That is Kafka's rule.
"""
