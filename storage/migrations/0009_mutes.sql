-- Mutes of findings: each is an event, and `desk` names the instance that wrote it.
CREATE TABLE mute (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  at REAL NOT NULL,
  desk TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
