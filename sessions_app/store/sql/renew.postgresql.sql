-- Purpose: renew the leases of the named (thread, token) pairs in one statement and tell for each pair what came
-- of it. In id order, locked rows are skipped; a pair whose token is no longer current is superseded (S3).
WITH held AS (
    SELECT * FROM unnest(%(threads)s::text[], %(tokens)s::text[]) AS h(thread, token)
), free AS (
    SELECT t.id
      FROM sessions_app_thread t
      JOIN held h ON h.thread = t.id AND h.token = t.lease_token
     ORDER BY t.id
       FOR NO KEY UPDATE OF t SKIP LOCKED
), lease AS (
    SELECT durable_now() + make_interval(secs => %(lease)s) AS until
), renewed AS (
    UPDATE sessions_app_thread t
       SET lease_expires_at = lease.until, wake_at = lease.until
      FROM free, lease
     WHERE t.id = free.id
 RETURNING t.id, t.lease_token
)
SELECT h.thread, h.token,
       CASE WHEN r.id IS NOT NULL THEN 'renewed'
            WHEN t.id IS NOT NULL THEN 'locked'
            ELSE 'superseded' END
  FROM held h
  LEFT JOIN renewed r ON r.id = h.thread AND r.lease_token = h.token
  LEFT JOIN sessions_app_thread t ON t.id = h.thread AND t.lease_token = h.token
