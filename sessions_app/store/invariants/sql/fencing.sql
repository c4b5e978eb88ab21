-- I7: journal entry {position} was written at {written} under a token that was not current then
-- Its token has to be that of a Run of the same Turn which was open at that time, or its
-- writer is an operator's audited repair.
SELECT entry.turn_id AS place, entry.position AS position, entry.at AS written
FROM sessions_app_journalentry AS entry
LEFT JOIN sessions_app_run AS run
    ON run.token = entry.token AND run.turn_id = entry.turn_id
    AND run.started_at <= entry.at AND (run.ended_at IS NULL OR run.ended_at >= entry.at)
LEFT JOIN sessions_app_auditentry AS audit ON audit.id = entry.token
WHERE run.id IS NULL AND audit.id IS NULL;

-- I7: checkpoint {ordinal} of its Thread was written at {written} under a token that was not current then
-- Imported state has no Run.
SELECT frame.turn_id AS place, frame.ordinal AS ordinal, frame.at AS written
FROM sessions_app_checkpoint AS frame
LEFT JOIN sessions_app_run AS run
    ON run.token = frame.token AND run.turn_id = frame.turn_id
    AND run.started_at <= frame.at AND (run.ended_at IS NULL OR run.ended_at >= frame.at)
WHERE run.id IS NULL AND frame.kind <> 'BASELINE';

-- I7: call {call} has a start record under a token that was not current then
-- `started_at` is the first start's, `start_token` the newest start's.
SELECT call.turn_id AS place, call.id AS call
FROM sessions_app_toolcall AS call
LEFT JOIN sessions_app_run AS run
    ON run.token = call.start_token AND run.turn_id = call.turn_id
    AND (run.ended_at IS NULL OR run.ended_at >= call.started_at)
    AND (call.attempts > 1 OR run.started_at <= call.started_at)
WHERE call.start_token IS NOT NULL AND run.id IS NULL;

-- I7: model call {call} of Run {run} was written at {written}, outside of that Run's time
SELECT call.turn_id AS place, call.id AS call, run.id AS run, call.at AS written
FROM sessions_app_modelcall AS call
JOIN sessions_app_run AS run ON run.id = call.run_id
WHERE run.started_at > call.at OR run.ended_at < call.at;

-- I7: event {sequence} speaks for Run {run} at {written}, outside of that Run's time
SELECT run.turn_id AS place, event.sequence AS sequence, run.id AS run, event.at AS written
FROM sessions_app_event AS event
JOIN sessions_app_run AS run ON run.id = event.run_id
WHERE run.started_at > event.at OR run.ended_at < event.at;
