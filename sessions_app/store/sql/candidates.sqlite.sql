-- Purpose: find ready Threads of one definition, taking namespaces in turn. One machine's worth of rows.
-- What this host would refuse is passed over, else it would hide what stands behind it for ever (S5, S17).
SELECT id, session_id, namespace, wake_at, place
  FROM (SELECT t.id, t.session_id, t.namespace, t.wake_at,
               row_number() OVER (PARTITION BY t.namespace ORDER BY t.wake_at) AS place
          FROM sessions_app_thread t
         WHERE t.definition = :definition AND t.version = :version AND t.state_version = :state_version
           AND t.wake_at IS NOT NULL AND t.wake_at <= (SELECT durable_now())
           AND t.namespace > :after AND :namespaces > 0
           AND instr(t.incompatible_builds, :build) = 0
           AND (:suspects OR COALESCE((
               SELECT h.deaths FROM sessions_app_turn h
                WHERE h.thread_id = t.id AND h.finished_at IS NULL
                ORDER BY h.ordinal LIMIT 1), 0) < :held))
 ORDER BY place, namespace
 LIMIT :limit
