"""Rules of the configuration's JSON Schema beyond the types of single keys, so that it refuses what the loader refuses.

They say the same as the code of the loader does, once more: `tests/unit/config/schema_rules` compares the two, and
lists what no schema can say. A schema may accept more than the loader, never less.
"""
