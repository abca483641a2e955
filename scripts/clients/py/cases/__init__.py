"""The cases, in modules whose names begin with their client's."""
