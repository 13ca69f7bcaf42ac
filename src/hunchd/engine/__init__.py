"""Application core: processing of signals, and answering of context requests."""
