"""Journal: write-ahead log of accepted records that are not in the tables yet."""
