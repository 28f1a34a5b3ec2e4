-- Notifications: which address was told of which finding, how bad it was then, and by which desk.
CREATE TABLE told (
  account TEXT NOT NULL,      -- the name of the secret that holds the address
  finding TEXT NOT NULL,      -- the id of the finding
  severity INTEGER NOT NULL,  -- 0: notice, 1: suspect, 2: alarm
  at REAL NOT NULL,           -- when it was claimed or sent, Unix seconds at the desk
  desk TEXT NOT NULL,         -- the instance that claimed it; empty: it was known before
  is_sent INTEGER NOT NULL,
  PRIMARY KEY (account, finding)
) STRICT;
