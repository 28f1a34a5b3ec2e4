-- How a run stands, as JSON, and the evalroom that starts it: of a dead one's, another finds out
-- by the run's id whether it was started.
ALTER TABLE run ADD COLUMN ended_at REAL;    -- Unix seconds at the desk; NULL: it is not over
ALTER TABLE run ADD COLUMN body TEXT;        -- JSON
ALTER TABLE run ADD COLUMN desk TEXT;        -- JSON

CREATE INDEX run_at ON run (at);
CREATE INDEX run_open ON run (at) WHERE ended_at IS NULL;
