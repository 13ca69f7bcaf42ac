"""A repository as it lies on disk: where it is, what it contains, what of it may be read."""
