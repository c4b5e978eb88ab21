"""The language through the wall: strict JSON, ids, bindings, commands, updates, fault points.

Import the modules by name; this package itself imports nothing.
"""
