-- I14: request {request} has {receipts} receipts in this Session
SELECT session_id AS place, request_id AS request, COUNT(*) AS receipts
FROM sessions_app_command
GROUP BY session_id, request_id
HAVING COUNT(*) > 1;

-- I16: no receipt exists for its admission
-- The child of a delegation is admitted by its parent's call.
SELECT turn.id AS place
FROM sessions_app_turn AS turn
LEFT JOIN sessions_app_command AS command
    ON command.session_id = turn.session_id AND command.request_id = turn.request_id AND command.turn_id = turn.id
WHERE command.id IS NULL AND turn.parent_turn_id IS NULL;

-- I16: its user message is missing
SELECT turn.id AS place
FROM sessions_app_turn AS turn
LEFT JOIN sessions_app_message AS message
    ON message.turn_id = turn.id AND message.role = 'user' AND message.request_id = turn.request_id
WHERE message.id IS NULL AND turn.parent_turn_id IS NULL;

-- I16: it has no Thread
SELECT session.id AS place
FROM sessions_app_session AS session
LEFT JOIN sessions_app_thread AS thread ON thread.session_id = session.id
WHERE thread.id IS NULL;

-- I16: its journal stands at {position}, but {entries} entries end at {newest}
SELECT thread.id AS place, thread.journal_position AS position, COUNT(entry.id) AS entries,
    COALESCE(MAX(entry.position), 0) AS newest
FROM sessions_app_thread AS thread
LEFT JOIN sessions_app_journalentry AS entry ON entry.thread_id = thread.id
GROUP BY thread.id, thread.journal_position
HAVING thread.journal_position <> COALESCE(MAX(entry.position), 0) OR COUNT(entry.id) <> COALESCE(MAX(entry.position), 0);

-- I16: its checkpoint stands at {position}, but its newest one contains the journal up to {newest}
SELECT thread.id AS place, thread.checkpoint_position AS position, COALESCE(MAX(frame.position), 0) AS newest
FROM sessions_app_thread AS thread
LEFT JOIN sessions_app_checkpoint AS frame ON frame.thread_id = thread.id
GROUP BY thread.id, thread.checkpoint_position
HAVING thread.checkpoint_position <> COALESCE(MAX(frame.position), 0);

-- I16: it counts {counted} admissions, but one of its Turns is number {newest}
SELECT session.id AS place, session.last_ordinal AS counted, MAX(turn.ordinal) AS newest
FROM sessions_app_session AS session
JOIN sessions_app_turn AS turn ON turn.session_id = session.id
GROUP BY session.id, session.last_ordinal
HAVING session.last_ordinal < MAX(turn.ordinal);

-- I18: {events} events from {first} to {newest}, where {floor} were pruned and {last} is the newest given out
SELECT session.id AS place, session.pruned_through AS floor, session.last_sequence AS last,
    COUNT(event.id) AS events, MIN(event.sequence) AS first, MAX(event.sequence) AS newest
FROM sessions_app_session AS session
LEFT JOIN sessions_app_event AS event ON event.session_id = session.id
GROUP BY session.id, session.pruned_through, session.last_sequence
HAVING COUNT(event.id) <> session.last_sequence - session.pruned_through
    OR MIN(event.sequence) <> session.pruned_through + 1
    OR MAX(event.sequence) <> session.last_sequence;
