-- Purpose: of the Sessions that streams follow, those that have more events than were seen, and those that are gone.
SELECT json_extract(f.value, '$[0]'), json_extract(f.value, '$[1]'), s.last_sequence
  FROM json_each(:followed) f
  LEFT JOIN sessions_app_session s
         ON s.namespace = json_extract(f.value, '$[0]') AND s.session_id = json_extract(f.value, '$[1]')
 WHERE s.last_sequence IS NULL OR s.last_sequence > json_extract(f.value, '$[2]')
