-- I5: {runs} Runs of it are open at once
SELECT turn_id AS place, COUNT(*) AS runs
FROM sessions_app_run
WHERE status = 'OPEN'
GROUP BY turn_id
HAVING COUNT(*) > 1;

-- I5: Run {run} began at {began}, before Run {former} had ended
SELECT run.turn_id AS place, run.id AS run, run.started_at AS began, former.id AS former
FROM sessions_app_run AS run
JOIN sessions_app_run AS former ON former.turn_id = run.turn_id AND former.ordinal = run.ordinal - 1
WHERE former.ended_at IS NULL OR former.ended_at > run.started_at;

-- I5: Run {run} is open, but the lease of its Thread belongs to another claim or to nobody
SELECT run.turn_id AS place, run.id AS run
FROM sessions_app_run AS run
JOIN sessions_app_thread AS thread ON thread.id = run.thread_id
WHERE run.status = 'OPEN' AND (thread.lease_token IS NULL OR thread.lease_token <> run.token);

-- I5: it is leased to host {host}, but no Run of it is open under that lease
SELECT thread.id AS place, thread.lease_host AS host
FROM sessions_app_thread AS thread
LEFT JOIN sessions_app_run AS run ON run.token = thread.lease_token AND run.thread_id = thread.id AND run.status = 'OPEN'
WHERE thread.lease_token IS NOT NULL AND run.id IS NULL;

-- I5: it names Run {named} as open, but its open Run is {really}
SELECT turn.id AS place, COALESCE(turn.run_id, 'none') AS named, COALESCE(run.id, 'none') AS really
FROM sessions_app_turn AS turn
LEFT JOIN sessions_app_run AS run ON run.turn_id = turn.id AND run.status = 'OPEN'
WHERE COALESCE(turn.run_id, '') <> COALESCE(run.id, '');

-- I6: its counter stands at {epoch}, below the {claims} claims that it has seen
SELECT thread.id AS place, thread.lease_epoch AS epoch, COUNT(run.id) AS claims
FROM sessions_app_thread AS thread
JOIN sessions_app_run AS run ON run.thread_id = thread.id
GROUP BY thread.id, thread.lease_epoch
HAVING thread.lease_epoch < COUNT(run.id);

-- I6: one token was given to {runs} Runs, this one among them
SELECT MIN(id) AS place, COUNT(*) AS runs
FROM sessions_app_run
GROUP BY token
HAVING COUNT(*) > 1;

-- I8: Run {run} was told that it ended the Turn, which is {status}
SELECT turn.id AS place, run.id AS run, turn.status AS status
FROM sessions_app_run AS run
JOIN sessions_app_turn AS turn ON turn.id = run.turn_id
WHERE run.status = 'COMPLETED' AND (turn.finished_at IS NULL OR turn.finished_at <> run.ended_at);

-- I8: request {request} to cancel was acknowledged, and nothing of it is there
SELECT turn.id AS place, command.request_id AS request
FROM sessions_app_command AS command
JOIN sessions_app_turn AS turn ON turn.id = command.turn_id
WHERE command.operation = 'cancel' AND turn.cancel_request IS NULL AND turn.finished_at IS NULL;
