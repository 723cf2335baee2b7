"""The resources of the API: their paths, their documents, and who may change them. The decisions are elsewhere."""
