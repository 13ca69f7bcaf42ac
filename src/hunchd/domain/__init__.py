"""Domain model: frozen values, standard library only."""
