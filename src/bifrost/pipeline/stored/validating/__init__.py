"""Stored records under the rules of SchemaValidator: which break them, who produced these, and when."""
