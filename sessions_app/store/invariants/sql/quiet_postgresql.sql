-- I42: {application} has been idle in a transaction since {since}
SELECT 'database session ' || pid AS place, application_name AS application, state_change AS since
FROM pg_stat_activity
WHERE datname = current_database() AND state LIKE 'idle in transaction%%'
    AND state_change < %(idle)s;
