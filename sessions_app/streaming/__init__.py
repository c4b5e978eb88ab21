"""Following a Session: knowing that there is more to read, at a cost that readers share."""
