-- I37: {requests} requests, {input} and {output} tokens are booked; its model calls sum up to {asked}, {read} and {written}
SELECT turn.id AS place, turn.requests AS requests, COALESCE(turn.input_tokens, 0) AS input,
    COALESCE(turn.output_tokens, 0) AS output, COALESCE(SUM(call.requests), 0) AS asked,
    COALESCE(SUM(call.input_tokens), 0) AS read, COALESCE(SUM(call.output_tokens), 0) AS written
FROM sessions_app_turn AS turn
LEFT JOIN sessions_app_modelcall AS call ON call.turn_id = turn.id
GROUP BY turn.id, turn.requests, turn.input_tokens, turn.output_tokens
HAVING turn.requests <> COALESCE(SUM(call.requests), 0)
    OR COALESCE(turn.input_tokens, 0) <> COALESCE(SUM(call.input_tokens), 0)
    OR COALESCE(turn.output_tokens, 0) <> COALESCE(SUM(call.output_tokens), 0);

-- I37: its accounting is called complete, but {calls} of its model calls have unknown counts
SELECT turn.id AS place, COUNT(*) AS calls
FROM sessions_app_turn AS turn
JOIN sessions_app_modelcall AS call ON call.turn_id = turn.id
WHERE turn.usage_complete AND (call.status = 'LOST' OR call.input_tokens IS NULL OR call.output_tokens IS NULL)
GROUP BY turn.id;

-- I37: lost model call {call} has counts that nobody can know
SELECT turn_id AS place, id AS call
FROM sessions_app_modelcall
WHERE status = 'LOST' AND (requests IS NOT NULL OR input_tokens IS NOT NULL OR output_tokens IS NOT NULL);
