"""Read path: focus, prediction, candidates, bundle; most of it is prefetched."""
