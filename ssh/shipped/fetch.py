"""What brings to a machine what a run needs: uv, packages, code, data, images.

Python 3.8 or newer, the standard library alone. It is started for one job, reads one line of
JSON on its standard input (`verb`, `given`, `secrets`, and `body`: how many bytes follow the
line), answers with one line, and is gone. Each job may be done again without harm. When its
input ends, nobody waits for the answer any more: it ends its children and itself.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

HOME = os.path.expanduser("~")
BIN = os.path.join(HOME, ".evalroom", "bin")
PREPARE = os.path.join(HOME, ".evalroom", "prepare")
CHUNK_MOST = 16 * 1024 * 1024
OUT_MOST = 1024 * 1024
TAIL = 8 * 1024
SAID = 400
CONFIGS_MOST = 500
HIDDEN = "[hidden]"

secrets = {}


class CannotDo(Exception):
    """What keeps a job from being done, as a sentence, and what to do."""

    def __init__(self, sentence, advice=""):
        super().__init__(sentence)
        self.advice = advice


# -- words and files


def at_home(path):
    return os.path.join(HOME, path[2:]) if path.startswith("~/") else path


def short(text):
    """The end of what a program said, on one line."""
    return " ".join(text.split())[-SAID:]


def raised(text):
    """What a program of Python ended with: its exception, without where that was."""
    rest = text[text.rfind("\n  File ") + 1 :].splitlines()
    return short("\n".join(line for line in rest if not line.startswith(" "))) or short(text)


def without_secrets(value):
    """An answer as it may leave: what a program said could hold what it was given."""
    if isinstance(value, dict):
        return {name: without_secrets(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_secrets(each) for each in value]
    if isinstance(value, str):
        for secret in sorted(secrets.values(), key=len, reverse=True):
            if len(secret) > 3:
                value = value.replace(secret, HIDDEN)
    return value


def make_private(folder):
    with told_of(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)


@contextlib.contextmanager
def told_of(path):
    """Make a sentence of what the disk refuses."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_space(path) from error
        said = "%s can't be written: %s" % (path, error.strerror or error)
        raise CannotDo(said) from error


def no_space(path):
    return CannotDo("no space is left for %s" % path, "make room on that disk, then do it again")


def remove(path):
    """Remove a file or folder, also one whose parts may not be written."""

    def again(function, name, _):
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(name), 0o700)
            os.chmod(name, 0o700)
            function(name)

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, onerror=again)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def held(path, until):
    """Hold a file's lock. Children that inherit it keep it, so that none outlives it unseen."""
    with told_of(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                    break  # a disk without locks: what follows is made whole and then renamed
            if time.monotonic() > until:
                raise CannotDo(
                    "another evalroom fetches the same there, and is not done",
                    "wait for it, then do it again",
                )
            time.sleep(0.05)
        yield fd
    finally:
        os.close(fd)


# -- programs


class Ran:
    """How a program ended: its exit status, the begin of its output, the end of its errors."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


children = {}
children_lock = threading.Lock()


def run(words, until, env=None, cwd=None, hold=None):
    """Run a program to its end, in a session of its own, without a terminal or an input."""
    with children_lock:
        try:
            child = subprocess.Popen(
                words,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=() if hold is None else (hold,),
            )
        except OSError as error:
            what = os.path.basename(words[0])
            raise CannotDo("%s can't be run: %s" % (what, error.strerror or error)) from error
        children[child.pid] = child
    out, err = bytearray(), bytearray()
    readers = [
        threading.Thread(target=read_begin, args=(child.stdout, out), daemon=True),
        threading.Thread(target=read_end, args=(child.stderr, err), daemon=True),
    ]
    for each in readers:
        each.start()
    try:
        status = child.wait(max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        status = None
    finally:
        for each in readers if child.returncode is not None else ():
            each.join(2.0)
        with children_lock:
            end_group(child.pid)
            child.wait()
            children.pop(child.pid, None)
    for each in readers:
        each.join(2.0)
    told = Ran(status, bytes(out).decode("utf-8", "replace"), bytes(err).decode("utf-8", "replace"))
    if status is None:
        what = " ".join([os.path.basename(words[0]), *[w for w in words[1:] if w.isalpha()][:2]])
        last = short(told.err)
        raise CannotDo(
            "%s was not done in time and was ended%s" % (what, ": " + last if last else ""),
            "look at the network of that machine, then do it again",
        )
    return told


def read_begin(pipe, kept):
    for data in iter(lambda: pipe.read1(65536), b""):
        if len(kept) < OUT_MOST:
            kept += data


def read_end(pipe, kept):
    for data in iter(lambda: pipe.read1(65536), b""):
        kept += data
        del kept[:-TAIL]


def end_group(pid):
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def end_when_nobody_waits():
    """End all once the input ends: the link is gone, or the asker's patience."""
    while sys.stdin.buffer.read(1):
        pass
    with children_lock:
        for pid in children:
            end_group(pid)
        os._exit(1)


# -- uv


def uv(given):
    """Have a uv of some version; answers its path, or how many bytes are wanted at which place."""
    target = os.path.join(BIN, "uv")
    make_private(BIN)
    found = there(target, given)
    if found:
        return found
    offer = given.get("offer")
    if offer and runs_here(offer):
        return {"wants": size_of(part_of(offer))}
    until = until_of(given)
    with held(os.path.join(BIN, "uv.lock"), until) as lock:
        found = there(target, given)
        if found:
            return found
        return from_path(target, given) or from_pip(target, given, until, lock)


def uv_part(given, body):
    """Take a piece of the uv that is sent; the last one puts it into its place."""
    target, offer = os.path.join(BIN, "uv"), given["offer"]
    make_private(BIN)
    try:
        data = zlib.decompressobj().decompress(body, CHUNK_MOST)
    except zlib.error as error:
        raise CannotDo("a piece of uv came broken") from error
    with held(os.path.join(BIN, "uv.lock"), until_of(given)):
        found = there(target, given)
        if found:
            return found
        part = part_of(offer)
        if size_of(part) != given["at"]:
            return {"wants": size_of(part)}
        try:
            with told_of(BIN), open(part, "ab") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except CannotDo:
            remove(part)
            raise
        if size_of(part) < offer["size"]:
            return {"wants": size_of(part)}
        if sha256_of(part) != offer["sha256"]:
            remove(part)
            return {"wants": 0}
        if not settled(part, target, given):
            return {"refused": "the uv of evalroom's own side does not run there"}
    return dict(there(target, given), how="sent")


def there(target, given):
    version = version_of(target)
    if version is None or not at_least(version, given["least"]):
        return None
    return {"path": target, "version": version, "how": "there"}


def settled(made, target, given):
    """Put a program into its place where it runs and is new enough; it is gone from its own."""
    try:
        with told_of(target):
            os.chmod(made, 0o755)
            version = version_of(made)
            if version is None or not at_least(version, given["least"]):
                return False
            os.replace(made, target)
    finally:
        remove(made)
    for name in os.listdir(BIN):
        if name.startswith("uv-") and name.endswith(".part"):
            remove(os.path.join(BIN, name))
    return True


def from_path(target, given):
    """Copy a uv that is there. A link would break when it goes, or when it is no program."""
    usual = [os.path.join(HOME, d, "uv") for d in (".local/bin", ".cargo/bin")]
    for path in (shutil.which("uv"), *usual):
        if path is None or not is_binary(path):
            continue
        made = temporary()
        with told_of(made):
            shutil.copyfile(path, made)
        if settled(made, target, given):
            return dict(there(target, given), how="copied")
    return None


def from_pip(target, given, until, lock):
    """Have that machine's own pip fetch uv into a folder of ours; no profile, no site has it."""
    for name in os.listdir(BIN):
        if name.startswith("pip-"):  # of one that was cut: the lock is ours
            remove(os.path.join(BIN, name))
    folder = tempfile.mkdtemp(prefix="pip-", dir=BIN)
    env = dict(os.environ, PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0", PIP_NO_INPUT="1")
    try:
        where = os.path.join(folder, "uv")
        words = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"]
        words += ["--target", where, "uv>=" + given["least"]]
        told = run([sys.executable, *words], until, env, folder, lock)
        if told.status != 0 and "No module named pip" in told.err:
            venv = os.path.join(folder, "venv")
            told = run([sys.executable, "-m", "venv", venv], until, env, folder, lock)
            if told.status == 0:
                told = run([os.path.join(venv, "bin", "python"), *words], until, env, folder, lock)
        if told.status == 0:
            made = temporary()
            with told_of(made):
                shutil.copyfile(os.path.join(where, "bin", "uv"), made)
            if settled(made, target, given):
                return dict(there(target, given), how="pip")
            raise CannotDo("the uv that pip fetched does not run there", no_uv())
        if "No space left" in told.err:
            raise no_space(BIN)
        raise CannotDo("uv can't be had: %s" % short(told.err or told.out), no_uv())
    finally:
        remove(folder)


def no_uv():
    return (
        "put uv into ~/.evalroom/bin there, or name a `python` that has Inspect, in the spec"
        " or in the config"
    )


def temporary():
    fd, path = tempfile.mkstemp(prefix="uv-", suffix=".part", dir=BIN)
    os.close(fd)
    return path


def part_of(offer):
    return os.path.join(BIN, "uv-%s.part" % re.sub(r"\W", "", offer["sha256"])[:32])


def size_of(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def sha256_of(path):
    told = hashlib.sha256()
    with open(path, "rb") as file:
        for data in iter(lambda: file.read(1024 * 1024), b""):
            told.update(data)
    return told.hexdigest()


def runs_here(offer):
    """Whether a program made for a platform is worth sending: it is tried once it is here."""
    mine = {
        "system": platform.system(),
        "processor": platform.machine(),
        "libc": platform.libc_ver()[0],
    }
    return all(offer[name] == value for name, value in mine.items())


def is_binary(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) in (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
    except OSError:
        return False


def version_of(path):
    if not os.path.isfile(path):
        return None
    try:
        told = run([path, "--version"], time.monotonic() + 20)
    except CannotDo:
        return None
    found = re.match(r"uv (\d+(?:\.\d+)+)", told.out)
    return found.group(1) if found and told.status == 0 else None


def at_least(version, least):
    return [int(n) for n in version.split(".")] >= [int(n) for n in least.split(".")]


# -- packages


def packages(given):
    """Fill uv's cache with Inspect and what else a run imports; tells Inspect's version."""
    until, env = until_of(given), eval_env(given)
    offline = [at_home(word) for word in given["offline"]]
    known = run([*offline, "-I", "-c", VERSION], until, env, HOME)
    if known.status == 0:
        return {"version": known.out.strip(), "how": "there"}
    online = [at_home(word) for word in given["online"]]
    told = run([*online, "--version"], until, env, HOME)
    if told.status != 0:
        raise why_no_packages(told.err or told.out)
    known = run([*offline, "-I", "-c", VERSION], until, env, HOME)
    if known.status != 0:  # without a cache that stays, a start would fetch it all again
        raise why_no_packages(known.err)
    return {"version": known.out.strip(), "how": "fetched"}


VERSION = "import importlib.metadata as m; print(m.version('inspect-ai'))"


def why_no_packages(said):
    if "No space left" in said or "os error 28" in said or "Disk quota" in said:
        return no_space("uv's cache")
    if re.search(r"error sending request|dns error|Failed to fetch|network was disabled", said):
        return CannotDo(
            "uv can't reach what it fetches packages from: %s" % short(said),
            "look at the network of that machine; a mirror is named by UV_DEFAULT_INDEX in env",
        )
    return CannotDo(
        "uv can't make the environment of the run: %s" % short(said),
        "look at `packages`, `inspect` and `python` of the spec",
    )


def eval_env(given, **more):
    """The variables of an eval of that run, so that caches lie where it looks for them."""
    stay = given.get("inherit", ())
    env = {n: v for n, v in os.environ.items() if not n.startswith("INSPECT_") or n in stay}
    for name, value in given.get("env", {}).items():
        env[name] = at_home(value) if name == "XDG_DATA_HOME" else value
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "EVALROOM_RUN"):
        env.pop(name, None)
    return dict(env, NO_COLOR="1", **more)


# -- code


FULL = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
BEGIN = re.compile(r"[0-9a-f]{4,63}\Z")
REF = re.compile(r"[A-Za-z0-9_][!-~]{0,254}\Z")
URL = re.compile(r"(https?|ssh|git|file)://[!-~]+\Z")
SCP = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[!-~]+\Z")
RECORD = "evalroom.json"


def checkout(given):
    """Check a repository out at one commit, whole or not at all; a second time does nothing."""
    folder, until = at_home(given["directory"]), until_of(given)
    make_private(folder)
    code = os.path.join(folder, "code")
    with held(os.path.join(folder, "code.lock"), until) as lock:
        asked = {"repository": given["repository"], "ref": given.get("ref")}
        done = record_of(code)
        if done is not None:
            if {name: done.get(name) for name in asked} != asked:
                raise CannotDo("%s holds another checkout" % code)
            return dict(done, how="there")
        if os.path.exists(code):
            raise CannotDo("%s is there, and is no checkout of evalroom" % code)
        part = code + ".part"
        remove(part)
        try:
            told = Checkout(part, given, until, lock).made()
            with told_of(part):
                with open(os.path.join(part, ".git", RECORD), "w") as file:
                    json.dump(dict(asked, **told), file)
                os.rename(part, code)
        finally:
            remove(part)
    return dict(asked, how="fetched", **told)


def record_of(code):
    try:
        with open(os.path.join(code, ".git", RECORD)) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class Checkout:
    """One checkout on its way."""

    def __init__(self, part, given, until, lock):
        self.part, self.until, self.lock = part, until, lock
        self.url, self.ref = given["repository"], given.get("ref")
        self.given_env = given.get("env", {})
        self.token = secrets.get("token")
        self.git = shutil.which("git")
        if self.git is None:
            raise CannotDo(
                "there is no git on that machine",
                'install it there, or name a folder: code = "/path/to/it"',
            )
        if not (URL.match(self.url) or SCP.match(self.url) or self.url.startswith(("/", "~/"))):
            raise CannotDo("%s is no address of a repository" % self.url)
        if self.ref is not None and not REF.match(self.ref):
            raise CannotDo("%s is no branch, tag or commit" % self.ref)
        self.url = at_home(self.url)
        if self.token is not None:
            self.refuse_an_open_line()

    def refuse_an_open_line(self):
        if not self.token.isprintable() or not self.token:
            raise CannotDo("the token is no line of text", "set it again: evalroom secrets set")
        is_near = re.match(r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?/", self.url)
        if not (self.url.startswith("https://") or is_near):
            raise CannotDo(
                "a token opens https:// addresses alone, not %s" % self.url,
                "leave `token` out where an ssh key of that account opens it",
            )

    def made(self):
        with told_of(self.part):
            os.mkdir(self.part, 0o700)
        self.must("init", "-q", "--template=")
        self.must("remote", "add", "--", "origin", self.url)
        commit = self.fetched()
        self.must("checkout", "-q", "--detach", commit)
        count = self.submodules()
        return {"commit": commit, "submodules": count, "lfs": self.has_lfs()}

    def fetched(self):
        """Fetch what the ref names, one commit deep where that can be; return the commit."""
        if self.ref is not None and FULL.match(self.ref):
            if self.one_deep(self.ref).status != 0:
                self.all_of_it()
            return self.commit_of(self.ref)
        name = self.advertised()
        if name is None:
            self.all_of_it()
            return self.commit_of(self.ref)
        if self.one_deep(name).status != 0:
            self.must("fetch", "-q", "--no-tags", "origin", name)
        return self.commit_of("FETCH_HEAD")

    def advertised(self):
        """The full name of a branch or tag there; None: it can only be a commit's beginning."""
        ref = self.ref
        names = ["HEAD"]
        if ref is not None:
            names = ["refs/heads/" + ref, "refs/tags/" + ref, "refs/" + ref, ref]
        told = self.must("ls-remote", "-q", "origin", *names)
        there = {line.partition("\t")[2] for line in told.out.splitlines()}
        for name in names:
            if name in there and (name == "HEAD" or name.startswith("refs/")):
                return name
        if ref is None:
            raise CannotDo("%s has no commit on its default branch" % self.url)
        if not BEGIN.match(ref):
            raise self.no_such_ref()
        return None

    def no_such_ref(self):
        return CannotDo(
            "%s has no branch, tag or commit %s" % (self.url, self.ref), "look at `ref` of the spec"
        )

    def one_deep(self, name):
        return self.ran("fetch", "-q", "--no-tags", "--depth=1", "origin", name)

    def all_of_it(self):
        names = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]
        self.must("fetch", "-q", "--no-tags", "origin", *names)

    def commit_of(self, name):
        told = self.ran("rev-parse", "-q", "--verify", name + "^{commit}")
        if "ambiguous" in told.err:
            raise CannotDo("%s is the beginning of several commits" % name, "write more of it")
        if told.status != 0 or not FULL.match(told.out.strip()):
            raise self.no_such_ref()
        return told.out.strip()

    def submodules(self):
        """Fetch the repositories within this one; return how many."""
        if not os.path.exists(os.path.join(self.part, ".gitmodules")):
            return 0
        words = ["submodule", "--quiet", "update", "--init", "--recursive"]
        if self.ran(*words, "--depth=1").status != 0:  # not every server gives one commit alone
            told = self.ran(*words)
            if told.status != 0:
                what = "%s, or one within it" % self.url
                raise why_no_code(what, told.err, self.token is not None)
        told = self.must("submodule", "status", "--recursive")
        return len(told.out.splitlines())

    def has_lfs(self):
        """Whether files are kept in Git LFS: then what is there points to them."""
        told = self.ran("grep", "-q", "filter=lfs", "--", ".gitattributes", "**/.gitattributes")
        return told.status == 0

    def must(self, *words):
        told = self.ran(*words)
        if told.status != 0:
            raise why_no_code(self.url, told.err, self.token is not None)
        return told

    def ran(self, *words):
        return run(
            [self.git, *self.settings(), *words], self.until, self.env(), self.part, self.lock
        )

    def settings(self):
        settings = [
            "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "gc.auto=0",
            "maintenance.auto=false", "credential.helper=", "http.lowSpeedLimit=1",
            "http.lowSpeedTime=60", "advice.detachedHead=false", "protocol.version=2",
            "init.defaultBranch=main", "fetch.recurseSubmodules=false",
        ]  # fmt: skip
        if self.token is not None:
            # A redirect would carry it to another host. The token stands in the environment.
            settings.append("http.followRedirects=false")
            scheme, _, rest = self.url.partition("://")
            host, has_user = rest.partition("/")[0], "@" in rest.partition("/")[0]
            name = "" if has_user else "printf '%s\\n' username=x-access-token;"
            told = "%s printf '%%s\\n' \"password=$EVALROOM_TOKEN\"" % name
            helper = '!f() { if test "$1" = get; then %s; fi; }; f' % told
            place = "credential.%s://%s" % (scheme, host.rpartition("@")[2])
            settings.append("%s.helper=%s" % (place, helper))
        return [word for each in settings for word in ("-c", each)]

    def env(self):
        certificates = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH")
        drop = ("DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS", "BASH_ENV", "ENV")
        env = {
            name: value
            for name, value in os.environ.items()
            if name in certificates or not (name.startswith("GIT_") or name in drop)
        }
        for name, value in self.given_env.items():
            if name in certificates or name.lower().endswith("_proxy"):
                env[name] = value
        ssh = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15"
        env.update(
            GIT_CONFIG_NOSYSTEM="1",
            GIT_CONFIG_GLOBAL="/dev/null",
            GIT_ATTR_NOSYSTEM="1",
            GIT_TERMINAL_PROMPT="0",
            GIT_ALLOW_PROTOCOL=self.allowed(),
            GIT_SSH_COMMAND=ssh,
            GIT_LFS_SKIP_SMUDGE="1",
            GIT_CEILING_DIRECTORIES=os.path.dirname(self.part),
            SSH_ASKPASS_REQUIRE="never",
            LC_ALL="C",
        )
        if self.token is not None:
            env["EVALROOM_TOKEN"] = self.token
        return env

    def allowed(self):
        """Protocols: its own, and for what it has within the two that are proven."""
        found = URL.match(self.url)
        own = found.group(1) if found else "file" if self.url.startswith("/") else "ssh"
        return ":".join(sorted({"https", "ssh", own}))


def why_no_code(url, said, has_token):
    """What git's words mean, as a sentence."""
    first = re.search(r"(?im)^(?:remote: )?(?:fatal|error|ssh)\b.*", said)
    cause = short(first.group(0) if first else said)

    def is_said(*texts):
        return any(re.search(text, said) for text in texts)

    if is_said("No space left", "Disk quota exceeded"):
        return no_space("the code of %s" % url)
    if is_said("dubious ownership"):
        return CannotDo(
            "%s belongs to another account, and git does not read it" % url,
            "have its owner give it to you, or name it as a directory: code = ...",
        )
    if is_said("transport '.*' not allowed", "protocol '.*' is not supported"):
        return CannotDo("%s is reached by a protocol that is not allowed: %s" % (url, cause))
    if is_said("cannot run ssh", "ssh: (command )?not found"):
        return CannotDo("there is no ssh on that machine, by which %s is reached" % url)
    if is_said("Host key verification failed"):
        return CannotDo(
            "ssh on that machine does not know the host key of %s" % url,
            "log in there and run ssh to that host once, to accept it",
        )
    if is_said(
        "Authentication failed", "could not read (Username|Password)", "prompts disabled",
        r"Permission denied \(", r"returned error: 40[13]", "HTTP Basic: Access denied",
    ):  # fmt: skip
        if has_token:
            return CannotDo(
                "the token does not open %s" % url, "set it again: evalroom secrets set"
            )
        return CannotDo(
            "%s is not open to that machine: it asks for who you are" % url,
            'name the secret that opens it: code = { ..., token = "NAME" }; for ssh, a key that'
            " asks for nothing must be there",
        )
    if is_said(r"returned error: 30\d", "redirect"):
        return CannotDo(
            "%s leads elsewhere, and a token is not taken along" % url, "write where it leads"
        )
    if is_said(
        "not found", "does not exist", "does not appear to be a git repo", "returned error: 404",
        "No such file or directory",
    ):  # fmt: skip
        return CannotDo("there is no repository at %s: %s" % (url, cause), "look at `code`")
    if is_said(
        "Could not resolve", "Connection (refused|reset|timed out|closed)", "Failed to connect",
        "Could not connect", "Couldn't connect", "unreachable", "No route to host", "too slow",
        "timed out", "early EOF", "hung up", "RPC failed", "(SSL|TLS)", "certificate",
    ):  # fmt: skip
        return CannotDo(
            "that machine can't reach %s: %s" % (url, cause), "look at its network, then try again"
        )
    return CannotDo("git did not fetch %s: %s" % (url, cause or "it says nothing"))


# -- what a task needs while there is a network


def task(given):
    """Make a task as Inspect would at its start: that fetches its data; tells its sandboxes."""
    folder, until = at_home(given["directory"]), until_of(given)
    make_private(folder)
    more = {"INSPECT_EVAL_MODEL": "mockllm/model"}
    if given.get("python_path"):
        more["PYTHONPATH"] = os.path.join(folder, at_home(given["python_path"]))
    words = [at_home(word) for word in given["python"]]
    asked = {"task": at_home(given["task"]), "args": given["args"], "sandbox": given["sandbox"]}
    with told_of(folder), open(os.path.join(folder, ASKED), "w", encoding="utf-8") as file:
        json.dump(asked, file)
    env = dict(eval_env(given, **more), **secrets)
    told = run([*words, "-c", TASK], until, env, folder)
    found = [line for line in told.out.splitlines() if line.startswith(MARK)]
    if told.status != 0 or not found:
        raise CannotDo(
            "the task can't be made there: %s" % raised(told.err or told.out),
            "look at `task`, `args`, `packages` and `secrets` of the spec",
        )
    return json.loads(found[-1][len(MARK) :])


MARK = "evalroom-task "
ASKED = "asked.json"
TASK = (
    """
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
print("\\n" + %r + json.dumps({
    "task": task.name, "samples": len(task.dataset), "sandboxes": sorted(kinds),
    "files": files, "images": sorted(images)}))
"""
    % MARK
)


def tokenizer(given):
    """Have the file by which tokens are counted; tells whether it was there, and where it is."""
    words = [at_home(word) for word in given["python"]]
    told = run([*words, "-c", TOKENIZER], until_of(given), eval_env(given), HOME)
    if told.status != 0:
        raise CannotDo("the tokenizer's file can't be fetched: %s" % raised(told.err))
    return json.loads(told.out.splitlines()[-1])


TOKENIZER = """
import json, os, tempfile, tiktoken, tiktoken.load as load
fetched, read = [], load.read_file
load.read_file = lambda path: (fetched.append(path), read(path))[1]
tiktoken.get_encoding("o200k_base")
named = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
where = named or os.path.join(tempfile.gettempdir(), "data-gym-cache")
print(json.dumps({"how": "fetched" if fetched else "there", "path": where, "kept": bool(named)}))
"""


def images(given):
    """Pull and build the images of sandboxes; tells of each."""
    until = until_of(given)
    docker = shutil.which("docker")
    if docker is None:
        raise CannotDo("there is no docker on that machine", "install it there")
    rows = []
    for path in given["files"][:CONFIGS_MOST]:
        rows.append(one_image(path, lambda path=path: of_file(docker, path, until)))
    for name in given["images"][:CONFIGS_MOST]:
        rows.append(one_image(name, lambda name=name: of_name(docker, name, until)))
    return {"images": rows}


def one_image(what, have):
    try:
        return {"what": what, "how": have(), "said": ""}
    except CannotDo as cannot:
        return {"what": what, "how": "failed", "said": str(cannot)}


def of_name(docker, name, until):
    if run([docker, "image", "inspect", "--", name], until).status == 0:
        return "there"
    must_run([docker, "pull", "-q", "--", name], until)
    return "fetched"


def of_file(docker, path, until):
    folder = os.path.dirname(path)
    if not os.path.basename(path).endswith((".yaml", ".yml")):
        must_run([docker, "build", "-q", "-f", path, folder], until, folder)
        return "built"
    compose = [docker, "compose", "-f", path]
    told = run([*compose, "config", "--format", "json"], until, cwd=folder)
    services = services_of(told)
    names = {each["image"] for each in services if each.get("image") and not each.get("build")}
    lacking = [n for n in names if run([docker, "image", "inspect", "--", n], until).status != 0]
    builds = any(each.get("build") for each in services)
    if services and not lacking and not builds:
        return "there"
    must_run([*compose, "pull", "-q", "--ignore-buildable"], until, folder)
    if builds:
        must_run([*compose, "build", "-q"], until, folder)
    return "built" if builds else "fetched"


def services_of(told):
    try:
        return list(json.loads(told.out)["services"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotDo("docker compose can't read it: %s" % short(told.err)) from error


def must_run(words, until, cwd=None):
    told = run(words, until, cwd=cwd)
    if told.status != 0:
        what = short(told.err or told.out)
        if "no space left" in what.lower():
            raise no_space("images")
        raise CannotDo("docker says: %s" % what)


def clear(given):
    """Remove the folder in which a task was made."""
    folder = os.path.join(PREPARE, os.path.basename(given["directory"]))
    remove(folder)
    return {}


# -- the job


VERBS = {
    "uv": uv,
    "packages": packages,
    "checkout": checkout,
    "task": task,
    "tokenizer": tokenizer,
    "images": images,
    "clear": clear,
}


def until_of(given):
    return time.monotonic() + given["seconds"]


def main():
    os.umask(0o077)
    asked = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read(asked.get("body", 0))
    threading.Thread(target=end_when_nobody_waits, daemon=True).start()
    secrets.update(asked["secrets"])
    try:
        if asked["verb"] == "uv_part":
            answer = uv_part(asked["given"], body)
        else:
            answer = VERBS[asked["verb"]](asked["given"])
    except CannotDo as cannot:
        answer = {"failed": str(cannot), "advice": cannot.advice}
    except OSError as error:
        answer = {"failed": "%s: %s" % (asked["verb"], error)}
    except Exception as error:  # its text could hold anything, a secret too
        answer = {"failed": "%s did not work: %s" % (asked["verb"], type(error).__name__)}
    try:
        sys.stdout.write(json.dumps(without_secrets(answer)) + "\n")
        sys.stdout.flush()
    finally:
        os._exit(0)  # the thread that waits for the end of the input does not hold us up


if __name__ == "__main__":
    main()
