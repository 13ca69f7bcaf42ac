"""The journal: what was accepted and is not yet in the tables, in files that survive a power cut."""
