-- Findings, as they were last; a restart shows them again.
CREATE TABLE finding (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,          -- when it last opened, changed or closed, Unix seconds at the desk
    body TEXT NOT NULL         -- the finding as JSON
) STRICT;

CREATE INDEX finding_at ON finding (at);
