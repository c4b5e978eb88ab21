-- I26: {attempts} start records for {name}, whose effect may happen once only
SELECT id AS place, attempts, name
FROM sessions_app_toolcall
WHERE effect = 'once' AND attempts > 1;

-- I30: it has the result of an external execution, but no update of it was taken in
SELECT id AS place
FROM sessions_app_toolcall
WHERE state IN ('COMPLETED', 'FAILED') AND dispatched_at IS NOT NULL AND inbox_position = 0
    AND route NOT IN ('local', 'direct', 'manual');

-- I32: applied at {applied}, but no checkpoint of that moment contains position {position}
SELECT call.id AS place, call.applied_at AS applied, COALESCE(call.applied_position, 0) AS position
FROM sessions_app_toolcall AS call
LEFT JOIN sessions_app_checkpoint AS frame
    ON frame.thread_id = call.thread_id AND frame.position = call.applied_position AND frame.at = call.applied_at
WHERE call.applied_at IS NOT NULL AND frame.id IS NULL;

-- I32: it names a place of application, but no time of it
SELECT id AS place
FROM sessions_app_toolcall
WHERE applied_at IS NULL AND (applied_position IS NOT NULL OR applied_run IS NOT NULL OR applied_step IS NOT NULL);

-- I33: the model was asked for reply {ordinal} before the result of {call} was in its history
SELECT call.turn_id AS place, asked.ordinal AS ordinal, call.id AS call
FROM sessions_app_toolcall AS call
JOIN sessions_app_modelcall AS asked
    ON asked.turn_id = call.turn_id AND asked.path = 'main' AND asked.status = 'COMPLETED'
    AND asked.ordinal = call.round + 1
WHERE call.applied_at IS NULL OR call.applied_at > asked.at;
