-- Purpose: the presence keys that living connections hold. Only looks: trying for a lock, however shortly, would
-- hide a process from other sweepers and get in the way of one that takes its lock again (S4).
SELECT (classid::bigint << 32) | objid::bigint
  FROM pg_locks
 WHERE locktype = 'advisory'
   AND objsubid = 1
   AND granted
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
