-- Purpose: find ready Threads of one definition without locks, taking namespaces in turn.
-- The walk jumps from namespace to namespace by the ready index, so neither one namespace's flood nor
-- 200,000 Threads that are due later are read. Namespaces visited without a ready Thread come back with
-- a null id, so that the caller knows where the walk ended. What this host would refuse is passed over,
-- else it would hide what stands behind it for ever (S5, S17).
WITH RECURSIVE walk AS (
    (SELECT t.namespace, 1 AS visited
       FROM sessions_app_thread t
      WHERE t.definition = %(definition)s AND t.version = %(version)s AND t.state_version = %(state_version)s
        AND t.wake_at IS NOT NULL AND t.namespace > %(after)s
      ORDER BY t.namespace LIMIT 1)
    UNION ALL
    SELECT (SELECT t.namespace
              FROM sessions_app_thread t
             WHERE t.definition = %(definition)s AND t.version = %(version)s
               AND t.state_version = %(state_version)s AND t.wake_at IS NOT NULL
               AND t.namespace > walk.namespace
             ORDER BY t.namespace LIMIT 1),
           walk.visited + 1
      FROM walk
     WHERE walk.namespace IS NOT NULL AND walk.visited < %(namespaces)s
)
SELECT ready.id, ready.session_id, walk.namespace, ready.wake_at, walk.visited
  FROM walk
  LEFT JOIN LATERAL (
      SELECT t.id, t.session_id, t.wake_at,
             row_number() OVER (ORDER BY t.wake_at) AS place
        FROM sessions_app_thread t
       WHERE t.definition = %(definition)s AND t.version = %(version)s AND t.state_version = %(state_version)s
         AND t.namespace = walk.namespace
         AND t.wake_at IS NOT NULL AND t.wake_at <= (SELECT durable_now())
         AND strpos(t.incompatible_builds, %(build)s) = 0
         AND (%(suspects)s OR COALESCE((
             SELECT h.deaths FROM sessions_app_turn h
              WHERE h.thread_id = t.id AND h.finished_at IS NULL
              ORDER BY h.ordinal LIMIT 1), 0) < %(held)s)
       ORDER BY t.wake_at LIMIT %(limit)s
  ) ready ON true
 WHERE walk.namespace IS NOT NULL
 ORDER BY ready.place NULLS LAST, walk.visited
