"""Core that the features share: project state, memories, signal intake, recovery, erasure, status."""
