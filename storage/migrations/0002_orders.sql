-- Every order: written before it leaves, and once it is known what became of it. What a host
-- names (start, task_id, sample_id, model) is JSON: the sample 1 is not the sample "1".
CREATE TABLE orders (
    id TEXT PRIMARY KEY,
    plan TEXT NOT NULL,
    at REAL NOT NULL,              -- Unix seconds at the desk
    host TEXT NOT NULL,            -- the evalroom that gave it
    boot TEXT NOT NULL,
    desk_pid INTEGER NOT NULL,
    desk_start TEXT NOT NULL,
    operator TEXT NOT NULL,
    machine TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start TEXT NOT NULL,           -- JSON
    task_id TEXT,                  -- JSON
    sample_id TEXT,                -- JSON
    epoch INTEGER,
    model TEXT,                    -- JSON
    verb TEXT NOT NULL,
    action TEXT NOT NULL,          -- JSON
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    command TEXT NOT NULL,
    preview TEXT NOT NULL,
    basis TEXT NOT NULL,           -- JSON
    undo TEXT,                     -- JSON
    reason TEXT NOT NULL,
    is_ours INTEGER NOT NULL,
    state TEXT NOT NULL,
    message TEXT NOT NULL,
    ended_at REAL,
    claimed_by TEXT                -- JSON: the evalroom that took it up from a dead one
) STRICT;

CREATE INDEX orders_at ON orders (at);
CREATE INDEX orders_open ON orders (at) WHERE state IN ('intent', 'unknown');

-- What this operator's evalroom launched.
CREATE TABLE run (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,              -- Unix seconds at the desk
    machine TEXT NOT NULL,
    operator TEXT NOT NULL,
    spec TEXT NOT NULL             -- JSON
) STRICT;
