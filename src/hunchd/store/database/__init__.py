"""Tables on disk with a single writer, repair and a mirror."""
