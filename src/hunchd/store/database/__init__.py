"""Tables on disk with a single writer, their repair, and their mirror in memory."""
