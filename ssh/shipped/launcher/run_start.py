"""Starts a run: its folder, its secrets, its script; or makes sure that it never starts."""

import base64
import json
import os
import shutil
import signal
import subprocess

from ssh.shipped.common.cannot_do import CannotDo, not_written
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.private_folders import make_private
from ssh.shipped.common.umask import LOGIN_UMASK
from ssh.shipped.launcher.files import tail_of, write_private
from ssh.shipped.launcher.log_folder_locks import note_eval, take_log_folder
from ssh.shipped.launcher.memory_kills import note_kills

SCRIPT_OUTPUT_BYTES = 64 * 1024
SCRIPT_WAIT_S = 60
START_OUTPUTS = ("start.out", "start.err")
GIVEN_UP = b"evalroom: its launch was given up before it was started\n"


def place_run(given):
    """Create a run's folder with its files, all or nothing; repeating it changes nothing."""
    folder = at_home(given["directory"])
    if os.path.isdir(folder):
        return {"placed": False, "directory": folder}
    part = "%s.part-%d" % (folder, os.getpid())
    make_private(part)
    try:
        for name, text in given["files"].items():
            path = os.path.join(part, name)
            if os.path.relpath(path, part).startswith(".."):
                raise CannotDo("%s is outside the run's folder" % name)
            make_private(os.path.dirname(path))
            write_private(path, base64.b64decode(text))
        try:
            os.rename(part, folder)
        except OSError as error:
            if not os.path.isdir(folder):
                raise not_written(folder, error) from error
            return {"placed": False, "directory": folder}
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return {"placed": True, "directory": folder}


def start_run(given):
    """Start a run's script in a session of its own; return its exit status and its output.

    The status is None if the script is not done after `wait` seconds. Its output goes into files
    of the run's folder, so that it keeps running if this program or the link ends.
    """
    folder = at_home(given["directory"])
    secrets_path = given.get("secrets_from")
    if not os.path.isdir(folder):
        raise CannotDo("the run's folder %s is gone" % folder)
    # A script that was started has read its secrets; if sent again, they would stay on disk.
    is_started = os.path.isdir(os.path.join(folder, "started"))
    if not is_started:
        take_log_folder(folder, given.get("log_dir"))
        note_kills(folder)
    if secrets_path and secrets_path != "-" and not is_started:
        write_secrets(at_home(secrets_path), given["secrets"])
    outputs = [os.path.join(folder, name) for name in START_OUTPUTS]
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    fds = [os.open(path, flags, 0o600) for path in outputs]
    try:
        child = subprocess.Popen(
            ["/bin/sh", given["script"]],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=fds[0],
            stderr=fds[1],
            start_new_session=True,
            preexec_fn=prepare_script,
        )
    except OSError as error:
        raise CannotDo("the run's script can't be started: %s" % error) from error
    finally:
        for fd in fds:
            os.close(fd)
    try:
        if secrets_path == "-":
            child.stdin.write(json.dumps(given["secrets"]).encode("utf-8") + b"\n")
        child.stdin.close()
    except OSError:
        pass  # it ended before it read: its status says why
    try:
        status = child.wait(given.get("wait", SCRIPT_WAIT_S))
    except subprocess.TimeoutExpired:
        status = None
    note_eval(folder, given.get("log_dir"))
    out, err = (tail_of(path, SCRIPT_OUTPUT_BYTES) for path in outputs)
    return {"status": status, "out": out, "err": err}


def prepare_script():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.umask(LOGIN_UMASK)  # the script makes private what is its own


def write_secrets(path, secrets):
    folder = os.path.dirname(path)
    make_private(folder)
    os.chmod(folder, 0o700)
    try:
        os.unlink(path)
    except OSError:
        pass
    write_private(path, json.dumps(secrets).encode("utf-8") + b"\n")


def delete_secrets(given):
    """Remove the secrets file of a run that did not start."""
    path = at_home(given["path"])
    try:
        os.unlink(path)
    except FileNotFoundError:
        return {"swept": False}
    except OSError as error:
        raise CannotDo("%s can't be removed: %s" % (path, error.strerror)) from error
    return {"swept": True}


def bar_run(given):
    """Take the start lock of an abandoned run, so that it never starts later."""
    folder = at_home(given["directory"])
    if not os.path.isdir(folder):
        return {"barred": True}
    try:
        os.mkdir(os.path.join(folder, "started"), 0o700)
    except FileExistsError:
        return {"barred": False}
    except OSError as error:
        raise not_written(folder, error) from error
    # For people who find the folder and wonder.
    write_private(os.path.join(folder, "launch.err"), GIVEN_UP)
    return {"barred": True}
