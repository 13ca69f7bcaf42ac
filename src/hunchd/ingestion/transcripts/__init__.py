"""Readers of coding agents' transcripts, one module for each agent."""
