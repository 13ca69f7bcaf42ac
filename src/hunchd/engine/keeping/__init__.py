"""Memories as they are kept: by which rule, in the journal, on their way to the store, and gone without a trace."""
