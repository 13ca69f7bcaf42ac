"""Tables on disk, with a single writer, repair, and an in-memory mirror."""
