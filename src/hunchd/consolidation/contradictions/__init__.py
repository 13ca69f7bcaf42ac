"""Which memories contradict each other: found, read, compared, judged. No I/O."""
