-- Purpose: name the versions of one agent that some Thread waits for. One machine's worth of rows.
SELECT DISTINCT t.version, t.state_version
  FROM sessions_app_thread t
 WHERE t.definition = :definition AND t.wake_at IS NOT NULL
 ORDER BY t.version, t.state_version
 LIMIT :limit
