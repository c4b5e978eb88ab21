-- Purpose: take a process's presence lock for the length of this connection; false when another one has it (S4).
SELECT pg_try_advisory_lock(%s)
