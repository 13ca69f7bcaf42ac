"""Consolidation runs: scheduled, planned, applied, undone."""
