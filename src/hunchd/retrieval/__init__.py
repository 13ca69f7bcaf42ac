"""From what was found to what is shown: fused, ranked, with a reason for each, and silent when nothing is relevant."""
