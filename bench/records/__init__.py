"""`make bench-records`: the record codec, encryption, and a gateway whose filters see the records."""
