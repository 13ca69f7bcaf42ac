"""Which memories say the same: found, read, compared. No I/O."""
