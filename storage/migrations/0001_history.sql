-- One row per task that was ever seen; other tables name it by its number.
CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    machine TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start TEXT NOT NULL,
    task_id TEXT NOT NULL,
    UNIQUE (machine, pid, start, task_id)
) STRICT;

-- Where a task stood at a moment. Thinned with age.
CREATE TABLE progress (
    task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    at REAL NOT NULL,          -- Unix seconds at the desk
    done INTEGER NOT NULL,     -- samples completed, errored or cancelled
    errored INTEGER NOT NULL,
    in_flight INTEGER,         -- NULL: unknown
    tokens INTEGER,            -- NULL: unknown
    PRIMARY KEY (task, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX progress_at ON progress (at);

-- Events worth keeping.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,          -- Unix seconds at the desk
    desk TEXT NOT NULL,        -- which running evalroom wrote it
    kind TEXT NOT NULL,        -- the event's class
    machine TEXT NOT NULL,
    pid INTEGER,               -- NULL: about the machine
    start TEXT,
    task_id TEXT,              -- NULL: about the process, or the machine
    body TEXT NOT NULL         -- the event as JSON
) STRICT;

CREATE INDEX event_at ON event (at);
CREATE INDEX event_task ON event (machine, pid, task_id, at) WHERE task_id IS NOT NULL;
