"""Readers for coding agents' transcripts, one module for each agent."""
