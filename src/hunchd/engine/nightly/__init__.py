"""What a quiet night is for: runs of the consolidation, planned, carried out, undone, and the usage they go by."""
