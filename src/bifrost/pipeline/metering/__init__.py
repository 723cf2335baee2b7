"""From the journal's records to usage by hour and day: reading, sums, and the tables that all jobs share."""
