-- I1: {status} since {finished}, and yet Run {run} of it began at {began}
SELECT turn.id AS place, turn.status AS status, turn.finished_at AS finished, run.id AS run, run.started_at AS began
FROM sessions_app_run AS run
JOIN sessions_app_turn AS turn ON turn.id = run.turn_id
WHERE run.started_at > turn.finished_at;

-- I1: {status} since {finished}, and yet message {message} was written at {written}
SELECT turn.id AS place, turn.status AS status, turn.finished_at AS finished, message.id AS message,
    message.at AS written
FROM sessions_app_message AS message
JOIN sessions_app_turn AS turn ON turn.id = message.turn_id
WHERE message.at > turn.finished_at;

-- I1: {status} since {finished}, and yet journal entry {position} was written at {written}
-- An operator's audited repair is no work of the Turn.
SELECT turn.id AS place, turn.status AS status, turn.finished_at AS finished, entry.position AS position,
    entry.at AS written
FROM sessions_app_journalentry AS entry
JOIN sessions_app_turn AS turn ON turn.id = entry.turn_id
LEFT JOIN sessions_app_auditentry AS audit ON audit.id = entry.token
WHERE entry.at > turn.finished_at AND audit.id IS NULL;

-- I3: {status}, and yet {earlier} of its Thread was admitted earlier and has not ended
-- A Turn that was paused before it began holds nothing and may stand anywhere in the queue.
SELECT turn.id AS place, turn.status AS status, MIN(earlier.id) AS earlier
FROM sessions_app_turn AS turn
JOIN sessions_app_turn AS earlier
    ON earlier.thread_id = turn.thread_id AND earlier.ordinal < turn.ordinal AND earlier.finished_at IS NULL
WHERE turn.finished_at IS NULL
    AND turn.status <> 'QUEUED'
    AND NOT (turn.status = 'PAUSED' AND turn.started_at IS NULL)
GROUP BY turn.id, turn.status;

-- I3: {status}, and yet it never began
SELECT turn.id AS place, turn.status AS status
FROM sessions_app_turn AS turn
WHERE turn.status IN ('RUNNING', 'PAUSING', 'WAITING') AND turn.started_at IS NULL;

-- I4: Run {run} of it began at {began}, before all earlier Turns of its Thread had ended
SELECT place, run, began
FROM (
    SELECT run.turn_id AS place, run.id AS run, run.started_at AS began, earlier.latest, earlier.unfinished
    FROM sessions_app_run AS run
    JOIN (
        SELECT id,
            MAX(finished_at) OVER before_it AS latest,
            SUM(CASE WHEN finished_at IS NULL THEN 1 ELSE 0 END) OVER before_it AS unfinished
        FROM sessions_app_turn
        WINDOW before_it AS (
            PARTITION BY thread_id ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
    ) AS earlier ON earlier.id = run.turn_id
) AS placed
WHERE unfinished > 0 OR latest > began;

-- I9: {failures} failures, more than its policy of {retries} retries allows
SELECT id AS place, failures, policy_retries AS retries
FROM sessions_app_turn
WHERE failures > policy_retries + 1 OR (failures > 0 AND policy_retries IS NULL);

-- I9: {failures} failures are charged, but only {failed} of its Runs failed
SELECT turn.id AS place, turn.failures AS failures, COUNT(run.id) AS failed
FROM sessions_app_turn AS turn
LEFT JOIN sessions_app_run AS run ON run.turn_id = turn.id AND run.status = 'FAILED'
WHERE turn.failures > 0
GROUP BY turn.id, turn.failures
HAVING turn.failures > COUNT(run.id);
