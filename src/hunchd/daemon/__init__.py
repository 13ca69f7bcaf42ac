"""The processes: the front that answers, the store and the indexer that come and go."""
