"""Code shapes that a project repeats: found, put into words, told where a new one usually goes."""
