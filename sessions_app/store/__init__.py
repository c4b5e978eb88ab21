"""The store: every change of a Session is load, decide, write. Begin at `transaction.py`."""
