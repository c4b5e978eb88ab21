-- Purpose: of the Sessions that streams follow, those that have more events than were seen, and those that are gone.
-- One look into the index for each, whatever the statistics say; what has not grown is neither sent nor read (R107).
SELECT namespace, session_id, newest
  FROM (SELECT f.namespace, f.session_id, f.seen,
               (SELECT s.last_sequence FROM sessions_app_session s
                 WHERE s.namespace = f.namespace AND s.session_id = f.session_id) AS newest
          FROM unnest(%(namespaces)s::text[], %(session_ids)s::text[], %(seen)s::bigint[])
               AS f(namespace, session_id, seen)
        OFFSET 0) followed
 WHERE newest IS NULL OR newest > seen
