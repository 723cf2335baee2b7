"""The index of logs: which virtual partition ends where, as far as a log was read from its start on.

    log piece   what was read of a log at a time, and by which batches it begins and ends
    entry       what is known of one physical partition, and its form in the topic of the index
    forward     reads on behind an entry, after it has proved that the log is still the same
    table       the entries of one process: its own, and those of others
    scan turn   which gateway reads logs that no client asks about

An entry says nothing of what lies behind its end. Before it is used, the batch by which it ends is read again: where a
topic was deleted and made anew, or a log has lost its end (an unclean election of a leader), another batch is there.
"""
