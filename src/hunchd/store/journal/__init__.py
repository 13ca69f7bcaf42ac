"""Journal: write-ahead log of accepted records, in files called segments."""
