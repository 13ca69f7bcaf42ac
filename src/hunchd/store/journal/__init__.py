"""Journal: write-ahead log of accepted records."""
