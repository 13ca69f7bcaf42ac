"""Context and prediction requests, answered from prefetched bundles where possible."""
