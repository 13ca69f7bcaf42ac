"""A project's memory shared with a team through a dataset on an object store."""
