"""What is kept: the journal of accepted records, the hot tier in memory, the tables on disk, the list of projects."""
