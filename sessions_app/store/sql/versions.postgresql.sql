-- Purpose: name the versions of one agent that some Thread waits for, without reading their backlogs.
-- The walk jumps from version to version by the ready index.
WITH RECURSIVE walk AS (
    (SELECT t.version, t.state_version, 1 AS visited
       FROM sessions_app_thread t
      WHERE t.definition = %(definition)s AND t.wake_at IS NOT NULL
      ORDER BY t.version, t.state_version LIMIT 1)
    UNION ALL
    SELECT following.version, following.state_version, walk.visited + 1
      FROM walk,
           LATERAL (SELECT t.version, t.state_version
                      FROM sessions_app_thread t
                     WHERE t.definition = %(definition)s AND t.wake_at IS NOT NULL
                       AND (t.version, t.state_version) > (walk.version, walk.state_version)
                     ORDER BY t.version, t.state_version LIMIT 1) following
     WHERE walk.visited < %(limit)s
)
SELECT version, state_version FROM walk ORDER BY visited
