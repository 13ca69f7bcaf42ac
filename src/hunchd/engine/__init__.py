"""The product on one page: what happens to a signal, and how a question is answered."""
