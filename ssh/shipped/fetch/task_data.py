"""The data of a task, and the file of the tokenizer: fetched by Inspect itself."""

import json
import os

from ssh.shipped.common.answers import ANSWER_LINE, NONCE_VARIABLE
from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.private_folders import make_private
from ssh.shipped.common.script_answers import answers_in, asked_env
from ssh.shipped.fetch.files import remove, writing
from ssh.shipped.fetch.hidden import SECRETS
from ssh.shipped.fetch.job import HOME, eval_env, until_of
from ssh.shipped.fetch.programs import exception_of, run

PREPARE_FOLDER = os.path.join(HOME, ".evalroom", "prepare")
ASKED_FILE = "asked.json"
PRINT_ANSWER = """
def print_answer(nonce=__import__("os").environ.pop(%r), **answer):
    import json
    text = json.dumps(answer)
    print(%r %% (nonce, len(text), text), flush=True)
""" % (NONCE_VARIABLE, ANSWER_LINE)
MAKE_TASK = (
    PRINT_ANSWER
    + """
import json, os
with open("asked.json", encoding="utf-8") as file:
    asked = json.load(file)
from inspect_ai._eval import loader
(task,) = loader.load_tasks([asked["task"]], asked["args"])
try:
    first = loader.resolve_task_sandbox(task, asked["sandbox"])
except (AttributeError, TypeError):
    first = task.sandbox
folder = getattr(task, "__task_run_dir__", os.getcwd())
files, images, kinds = [], set(), set()
def take(sandbox):
    if sandbox is None:
        return
    kinds.add(sandbox.type)
    config = sandbox.config
    if sandbox.type != "docker":
        return
    if config is None:
        images.add("aisiuk/inspect-tool-support")  # what Inspect takes then
    elif isinstance(config, str):
        path = os.path.normpath(os.path.join(folder, config))
        if path not in files:
            files.append(path)
    else:
        services = (config.model_dump() if hasattr(config, "model_dump") else {}).get("services")
        images.update(s["image"] for s in (services or {}).values() if s.get("image"))
take(first)
for sample in task.dataset:
    if sample.sandbox is not None and sample.sandbox.config is not None:
        take(sample.sandbox)
print_answer(task=task.name, samples=len(task.dataset), sandboxes=sorted(kinds),
             files=files, images=sorted(images))
"""
)
"""Creates the task as Inspect would, which fetches its data, and prints its sandboxes."""
FETCH_TOKENIZER = (
    PRINT_ANSWER
    + """
import os, tempfile, tiktoken, tiktoken.load as load
fetched, read = [], load.read_file
load.read_file = lambda path: (fetched.append(path), read(path))[1]
tiktoken.get_encoding("o200k_base")
named = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
where = named or os.path.join(tempfile.gettempdir(), "data-gym-cache")
print_answer(how="fetched" if fetched else "there", path=where, kept=bool(named))
"""
)
"""Makes tiktoken fetch its file, and prints the path and whether it was cached."""


def fetch_task_data(given):
    """Create a task as Inspect does at the start of an eval; return its samples and sandboxes."""
    folder, until = at_home(given["directory"]), until_of(given)
    make_private(folder)
    more = {"INSPECT_EVAL_MODEL": "mockllm/model"}
    if given.get("python_path"):
        more["PYTHONPATH"] = os.path.join(folder, at_home(given["python_path"]))
    words = [at_home(word) for word in given["python"]]
    asked = {"task": at_home(given["task"]), "args": given["args"], "sandbox": given["sandbox"]}
    with writing(folder), open(os.path.join(folder, ASKED_FILE), "w", encoding="utf-8") as file:
        json.dump(asked, file)
    env, nonce = asked_env(dict(eval_env(given, **more), **SECRETS))
    done = run([*words, "-c", MAKE_TASK], until, env, folder)
    found = answers_in(done.out, nonce)
    if done.status != 0 or not found:
        raise CannotDo(
            "the task can't be created there: %s" % exception_of(done.err or done.out),
            "check `task`, `args`, `packages` and `secrets` in the spec",
        )
    return found[-1]


def fetch_tokenizer(given):
    """Fetch the file that token counting needs; return its path and whether it was cached."""
    words = [at_home(word) for word in given["python"]]
    env, nonce = asked_env(eval_env(given))
    done = run([*words, "-c", FETCH_TOKENIZER], until_of(given), env, HOME)
    found = answers_in(done.out, nonce)
    if done.status != 0 or not found:
        raise CannotDo("the tokenizer's file can't be fetched: %s" % exception_of(done.err))
    return found[-1]


def remove_task_folder(given):
    """Remove the folder in which a task was created."""
    remove(os.path.join(PREPARE_FOLDER, os.path.basename(given["directory"])))
    return {}
