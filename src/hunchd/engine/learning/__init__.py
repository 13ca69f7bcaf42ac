"""What is learnt of projects beside the two paths: indexed, mined, claimed, fixed, contradicted."""
