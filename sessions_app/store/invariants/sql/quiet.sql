-- I41: {turn} has not moved, though its Thread was due at {due}
SELECT thread.id AS place, thread.wake_at AS due, MIN(turn.id) AS turn
FROM sessions_app_thread AS thread
JOIN sessions_app_turn AS turn ON turn.thread_id = thread.id AND turn.finished_at IS NULL
WHERE thread.wake_at < %(overdue)s
GROUP BY thread.id, thread.wake_at;

-- I41: {status}, the first of its Thread, and nobody owns it or will ever look at it
SELECT turn.id AS place, turn.status AS status
FROM sessions_app_turn AS turn
JOIN sessions_app_thread AS thread ON thread.id = turn.thread_id
LEFT JOIN sessions_app_turn AS earlier
    ON earlier.thread_id = turn.thread_id AND earlier.ordinal < turn.ordinal AND earlier.finished_at IS NULL
LEFT JOIN sessions_app_toolcall AS call
    ON call.turn_id = turn.id AND call.state IN ('INTENDED', 'STARTED', 'UNKNOWN')
WHERE turn.status IN ('QUEUED', 'RUNNING', 'PAUSING', 'CANCELLING')
    AND thread.wake_at IS NULL AND NOT turn.suspect AND earlier.id IS NULL AND call.id IS NULL;

-- I42: waits for a tool, but no call of it is open or has a result to apply
SELECT turn.id AS place
FROM sessions_app_turn AS turn
LEFT JOIN sessions_app_toolcall AS call ON call.turn_id = turn.id AND call.applied_at IS NULL
WHERE turn.status = 'WAITING' AND turn.reason = 'tool' AND call.id IS NULL;

-- I42: waits for a person, but no interaction of it is open or answered
SELECT turn.id AS place
FROM sessions_app_turn AS turn
JOIN sessions_app_thread AS thread ON thread.id = turn.thread_id
LEFT JOIN sessions_app_interaction AS asked ON asked.turn_id = turn.id AND asked.status IN ('OPEN', 'ANSWERED')
WHERE turn.status = 'WAITING' AND turn.reason = 'interaction' AND asked.id IS NULL AND thread.wake_at IS NULL;

-- I42: waits for evidence, but no call of it is UNKNOWN
SELECT turn.id AS place
FROM sessions_app_turn AS turn
JOIN sessions_app_thread AS thread ON thread.id = turn.thread_id
LEFT JOIN sessions_app_toolcall AS call ON call.turn_id = turn.id AND call.state = 'UNKNOWN'
WHERE turn.status = 'WAITING' AND turn.reason = 'unknown' AND call.id IS NULL AND thread.wake_at IS NULL;

-- I42: waits for its next try, but none is planned
SELECT turn.id AS place
FROM sessions_app_turn AS turn
JOIN sessions_app_thread AS thread ON thread.id = turn.thread_id
WHERE turn.status = 'WAITING' AND turn.reason = 'backoff' AND (turn.retry_at IS NULL OR thread.wake_at IS NULL);

-- I42: waits for a signal, but no wait of it is open, and nobody will look at it
SELECT turn.id AS place
FROM sessions_app_turn AS turn
JOIN sessions_app_thread AS thread ON thread.id = turn.thread_id
LEFT JOIN sessions_app_wait AS waits ON waits.turn_id = turn.id AND waits.status = 'OPEN'
WHERE turn.status = 'WAITING' AND turn.reason = 'signal' AND waits.id IS NULL AND thread.wake_at IS NULL;

-- I42: is held as a suspect, but nothing marks it as one, and nobody will look at it
SELECT turn.id AS place
FROM sessions_app_turn AS turn
JOIN sessions_app_thread AS thread ON thread.id = turn.thread_id
WHERE turn.status = 'WAITING' AND turn.reason = 'suspect' AND NOT turn.suspect AND thread.wake_at IS NULL;

-- I42: waits for another host ({reason}), but nobody will ever look at it
SELECT turn.id AS place, turn.reason AS reason
FROM sessions_app_turn AS turn
JOIN sessions_app_thread AS thread ON thread.id = turn.thread_id
WHERE turn.status = 'WAITING' AND turn.reason IN ('incompatible', 'handed-over') AND NOT turn.suspect
    AND thread.wake_at IS NULL;

-- I42: {state}, but it is never sent nor asked about again, and nobody is asked to act
-- Calls of this process, of a person, of a signal and of a child Turn end by other facts; UNKNOWN ends by evidence.
SELECT call.id AS place, call.state AS state
FROM sessions_app_toolcall AS call
JOIN sessions_app_turn AS turn ON turn.id = call.turn_id AND turn.finished_at IS NULL
LEFT JOIN sessions_app_interaction AS asked ON asked.call_id = call.id AND asked.status IN ('OPEN', 'ANSWERED')
WHERE call.state IN ('INTENDED', 'STARTED') AND call.route NOT IN ('local', 'direct', 'manual', 'signal')
    AND call.deliver_at IS NULL AND call.child_turn_id IS NULL AND asked.id IS NULL;

-- I42: somebody is asked about {call}, which is {state}
SELECT asked.id AS place, call.id AS call, call.state AS state
FROM sessions_app_interaction AS asked
JOIN sessions_app_toolcall AS call ON call.id = asked.call_id
WHERE asked.status = 'OPEN' AND call.state <> 'INTENDED';

-- I42: {key} is waited for, for {call}, which is {state}
SELECT waits.id AS place, waits.key AS key, call.id AS call, call.state AS state
FROM sessions_app_wait AS waits
JOIN sessions_app_toolcall AS call ON call.id = waits.call_id
WHERE waits.status = 'OPEN' AND call.state <> 'INTENDED';

-- I42: nobody is asked about it, though a person has to act
SELECT call.id AS place
FROM sessions_app_toolcall AS call
LEFT JOIN sessions_app_interaction AS asked ON asked.call_id = call.id AND asked.status = 'OPEN'
WHERE call.state = 'INTENDED' AND (call.allowed_at IS NULL OR call.route = 'manual') AND asked.id IS NULL;

-- I42: it waits for a signal, but no wait of it is open
SELECT call.id AS place
FROM sessions_app_toolcall AS call
LEFT JOIN sessions_app_wait AS waits ON waits.call_id = call.id AND waits.status = 'OPEN'
WHERE call.state = 'INTENDED' AND call.allowed_at IS NOT NULL AND call.route = 'signal' AND waits.id IS NULL;

-- I42: it wakes for a deadline at {deadline}, but the earliest that is open is {earliest}
SELECT turn.id AS place, turn.wait_deadline AS deadline, open_ones.earliest AS earliest
FROM sessions_app_turn AS turn
LEFT JOIN (
    SELECT deadlines.turn_id AS turn_id, MIN(deadlines.moment) AS earliest
    FROM (
        SELECT turn_id, expires_at AS moment FROM sessions_app_interaction WHERE status = 'OPEN'
        UNION ALL
        SELECT turn_id, deadline_at AS moment FROM sessions_app_wait WHERE status = 'OPEN'
    ) AS deadlines
    GROUP BY deadlines.turn_id
) AS open_ones ON open_ones.turn_id = turn.id
WHERE (turn.wait_deadline IS NULL) <> (open_ones.earliest IS NULL) OR turn.wait_deadline <> open_ones.earliest;
