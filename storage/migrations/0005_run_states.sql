-- A run's states get the words of a task's states.
UPDATE run
SET body = json_set(
    body,
    '$.state',
    CASE json_extract(body, '$.state')
        WHEN 'finalising' THEN 'finishing'
        WHEN 'done' THEN 'success'
        WHEN 'failed' THEN 'error'
    END
)
WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.state') END
    IN ('finalising', 'done', 'failed');
