"""Detection of memories that say the same: find, normalise and compare. No I/O."""
