"""Reads the job, does it, and prints the answer."""

import json
import os
import sys
import threading

from ssh.shipped.common.answers import nonce_of, write_answer
from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.core_dumps import be_undumpable, limit_core_dumps
from ssh.shipped.common.paths import set_home
from ssh.shipped.fetch.checkout import fetch_code
from ssh.shipped.fetch.hidden import SECRETS, without_secrets
from ssh.shipped.fetch.images import fetch_images
from ssh.shipped.fetch.packages import fetch_packages
from ssh.shipped.fetch.programs import exit_with_the_input
from ssh.shipped.fetch.task_data import fetch_task_data, fetch_tokenizer, remove_task_folder
from ssh.shipped.fetch.uv import fetch_uv, take_uv_piece

VERBS = {
    "uv": fetch_uv,
    "packages": fetch_packages,
    "checkout": fetch_code,
    "task": fetch_task_data,
    "tokenizer": fetch_tokenizer,
    "images": fetch_images,
    "clear": remove_task_folder,
}


def main():
    limit_core_dumps()
    be_undumpable()
    os.umask(0o077)
    set_home()
    asked = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read(asked.get("body", 0))
    threading.Thread(target=exit_with_the_input, daemon=True).start()
    SECRETS.update(asked["secrets"])
    try:
        if asked["verb"] == "uv_part":
            answer = take_uv_piece(asked["given"], body)
        else:
            answer = VERBS[asked["verb"]](asked["given"])
    except CannotDo as cannot:
        answer = {"failed": str(cannot), "advice": cannot.advice}
    except OSError as error:
        answer = {"failed": "%s: %s" % (asked["verb"], error)}
    except Exception as error:  # its text could hold anything, a secret too
        answer = {"failed": "%s failed: %s" % (asked["verb"], type(error).__name__)}
    try:
        write_answer(without_secrets(answer), nonce_of(asked))
    finally:
        os._exit(0)  # the thread that waits for the end of the input must not keep us


if __name__ == "__main__":
    main()
