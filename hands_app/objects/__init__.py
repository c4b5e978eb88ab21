"""Large bodies of both houses, outside of their databases and envelopes (R192, R245).

The port is `port.ObjectStore`; `files` keeps objects in a folder that both houses share. A store of
another kind is one more class behind the same port, and one more line in `opening`.
"""
