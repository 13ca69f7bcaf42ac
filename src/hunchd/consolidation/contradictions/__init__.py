"""Detection of memories that contradict each other: find, parse, compare and classify pairs. No I/O."""
