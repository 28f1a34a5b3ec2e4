"""Files that a run would otherwise fetch: models, datasets, the tokenizer's file."""

import hashlib
import os
import tempfile

from ssh.shipped.common.paths import at_home

TOKENIZER = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
"""The file that Inspect needs to count tokens of the mock model."""
OFFLINE_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
TRUE_WORDS = ("1", "on", "yes", "true")


def read_caches(env, models):
    home = os.path.expanduser("~")
    cache = env.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    hub = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE")
    if not hub:
        hub = os.path.join(env.get("HF_HOME") or os.path.join(cache, "huggingface"), "hub")
    hub = at_home(hub)
    try:
        names = os.listdir(hub)
    except OSError:
        names = []
    return {
        "offline": [each for each in OFFLINE_VARIABLES if env.get(each, "").lower() in TRUE_WORDS],
        "hub": hub,
        "models": {each: has_model(hub, each) for each in models},
        "datasets": sum(1 for name in names if name.startswith("datasets--")),
        "tokenizer": has_tokenizer(env),
    }


def has_model(hub, name):
    if os.path.isdir(at_home(name)):
        return True
    folder = os.path.join(hub, "models--" + name.replace("/", "--"), "snapshots")
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def has_tokenizer(env):
    folder = env.get("TIKTOKEN_CACHE_DIR", env.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    name = hashlib.sha1(TOKENIZER.encode()).hexdigest()
    return bool(folder) and os.path.isfile(os.path.join(folder, name))
