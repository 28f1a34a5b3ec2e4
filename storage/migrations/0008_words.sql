-- The states of orders, the verb of a kill and the kind of a guide get the words of the screen.
DROP INDEX orders_open;
UPDATE orders SET state = CASE state WHEN 'intent' THEN 'sending' ELSE 'no change' END
WHERE state IN ('intent', 'noop');
CREATE INDEX orders_open ON orders (at) WHERE state IN ('sending', 'intent', 'unknown');
UPDATE orders SET verb = 'kill', action = json_set(action, '$.verb', 'kill')
WHERE verb = 'end' AND json_valid(action);
UPDATE guide SET body = json_set(body, '$.kind', 'interrupt')
WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.kind') END = 'park';
