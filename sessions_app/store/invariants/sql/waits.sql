-- I35: it began or may have been sent, though its approval is {status}
SELECT call.id AS place, asked.status AS status
FROM sessions_app_toolcall AS call
JOIN sessions_app_interaction AS asked ON asked.call_id = call.id AND asked.kind = 'APPROVAL'
WHERE (call.started_at IS NOT NULL OR call.dispatched_at IS NOT NULL OR call.deliver_at IS NOT NULL)
    AND asked.status <> 'CONSUMED';

-- I35: it may begin since {allowed}, but nobody decided so then
SELECT call.id AS place, call.allowed_at AS allowed
FROM sessions_app_toolcall AS call
JOIN sessions_app_interaction AS asked ON asked.call_id = call.id AND asked.kind = 'APPROVAL'
WHERE call.allowed_at IS NOT NULL AND (asked.answered_at IS NULL OR asked.answered_at <> call.allowed_at);

-- I35: it was decided for other arguments than its call has
SELECT asked.id AS place
FROM sessions_app_interaction AS asked
JOIN sessions_app_toolcall AS call ON call.id = asked.call_id
WHERE asked.arguments_digest <> call.request_digest;

-- I35: it is {status}, but nothing says what was decided or by which request or rule
SELECT id AS place, status
FROM sessions_app_interaction
WHERE status IN ('ANSWERED', 'CONSUMED') AND (answer IS NULL OR (request_id IS NULL AND rule_id IS NULL));
