-- Checklists that run themselves. The evalroom that runs one stands in its row: of a dead one's,
-- another takes it over in one transaction.
CREATE TABLE guide (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,              -- Unix seconds at the desk
    ended_at REAL,                 -- NULL: it is open
    host TEXT NOT NULL,
    boot TEXT NOT NULL,
    desk_pid INTEGER NOT NULL,
    desk_start TEXT NOT NULL,
    operator TEXT NOT NULL,
    body TEXT NOT NULL             -- the guide as JSON
) STRICT;

CREATE INDEX guide_at ON guide (at);
CREATE INDEX guide_open ON guide (at) WHERE ended_at IS NULL;
