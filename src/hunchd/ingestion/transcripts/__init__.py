"""Readers of coding agents' transcripts: one module per agent."""
