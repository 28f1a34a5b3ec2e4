-- A run's sentence is called its message.
UPDATE run
SET body = json_remove(json_set(body, '$.message', json_extract(body, '$.said')), '$.said')
WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.said') END IS NOT NULL;
