"""The words of the product: frozen values, standard library only."""
