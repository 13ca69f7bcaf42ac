"""Background learning about projects: indexing, mining, claims, fixes, contradictions."""
