"""What every implementation of `hunchd.store.port.MemoryStore` must do; `conftest.py` lists the implementations."""
