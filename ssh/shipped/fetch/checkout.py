"""A repository at one commit, with its submodules."""

import json
import os
import re
import shutil

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.private_folders import make_private
from ssh.shipped.common.umask import LOGIN_UMASK
from ssh.shipped.fetch.files import lock, remove, writing
from ssh.shipped.fetch.git_errors import why_no_code
from ssh.shipped.fetch.git_settings import URL, git_env, git_options
from ssh.shipped.fetch.hidden import SECRETS
from ssh.shipped.fetch.job import until_of
from ssh.shipped.fetch.programs import run

FULL_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
SHORT_COMMIT = re.compile(r"[0-9a-f]{4,63}\Z")
REF = re.compile(r"[A-Za-z0-9_][!-~]{0,254}\Z")
SCP_ADDRESS = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[!-~]+\Z")
RECORD_FILE = "evalroom.json"


def fetch_code(given):
    """Check out a repository at one commit, all or nothing; repeating it changes nothing."""
    folder, until = at_home(given["directory"]), until_of(given)
    make_private(folder)
    code = os.path.join(folder, "code")
    with lock(os.path.join(folder, "code.lock"), until) as lock_fd:
        asked = {"repository": given["repository"], "ref": given.get("ref")}
        record = record_of(code)
        if record is not None:
            if {name: record.get(name) for name in asked} != asked:
                raise CannotDo("%s contains another checkout" % code)
            return dict(record, how="there")
        if os.path.exists(code):
            raise CannotDo("%s exists, and evalroom did not check it out" % code)
        part = code + ".part"
        remove(part)
        try:
            made = Checkout(part, given, until, lock_fd).make()
            with writing(part):
                with open(os.path.join(part, ".git", RECORD_FILE), "w") as file:
                    json.dump(dict(asked, **made), file)
                os.rename(part, code)
        finally:
            remove(part)
    return dict(asked, how="fetched", **made)


def record_of(code):
    """Return the record of an earlier checkout; None: no checkout."""
    try:
        with open(os.path.join(code, ".git", RECORD_FILE)) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class Checkout:
    """Makes one checkout, in the folder `part`."""

    def __init__(self, part, given, until, lock_fd):
        self.part, self.until, self.lock_fd = part, until, lock_fd
        self.url, self.ref = given["repository"], given.get("ref")
        self.token = SECRETS.get("token")
        self.git = shutil.which("git")
        if self.git is None:
            raise CannotDo(
                "that machine has no git",
                'install it there, or use a folder: code = "/path/to/it"',
            )
        is_path = self.url.startswith(("/", "~/"))
        if not (URL.match(self.url) or SCP_ADDRESS.match(self.url) or is_path):
            raise CannotDo("%s is not the address of a repository" % self.url)
        if self.ref is not None and not REF.match(self.ref):
            raise CannotDo("%s is not the name of a branch, tag or commit" % self.ref)
        self.url = at_home(self.url)
        if self.token is not None:
            self.check_token()
        self.options = git_options(self.url, self.token is not None)
        self.env = git_env(self.url, given.get("env", {}), self.token, os.path.dirname(part))

    def check_token(self):
        """Refuse a token that would be sent unencrypted, or that can't be sent."""
        if not self.token.isprintable() or not self.token:
            raise CannotDo(
                "the token is not one line of text", "set it again: evalroom secrets set"
            )
        is_local = re.match(r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?/", self.url)
        if not (self.url.startswith("https://") or is_local):
            raise CannotDo(
                "a token is sent to https:// addresses only, not to %s" % self.url,
                "leave `token` out if an ssh key of that account has access",
            )

    def make(self):
        """Return the commit, the number of submodules, and whether files are in Git LFS."""
        with writing(self.part):
            os.mkdir(self.part)
            os.chmod(self.part, 0o777 & ~LOGIN_UMASK)
        self.must_run("init", "-q", "--template=")
        self.must_run("remote", "add", "--", "origin", self.url)
        commit = self.fetch()
        self.must_run("checkout", "-q", "--detach", commit)
        count = self.fetch_submodules()
        return {"commit": commit, "submodules": count, "lfs": self.has_lfs()}

    def fetch(self):
        """Fetch the ref, with a depth of one commit if possible; return the commit."""
        if self.ref is not None and FULL_COMMIT.match(self.ref):
            if self.fetch_one(self.ref).status != 0:
                self.fetch_all()
            return self.commit_of(self.ref)
        name = self.full_name()
        if name is None:
            self.fetch_all()
            return self.commit_of(self.ref)
        if self.fetch_one(name).status != 0:
            self.must_run("fetch", "-q", "--no-tags", "origin", name)
        return self.commit_of("FETCH_HEAD")

    def full_name(self):
        """Return the full name of the branch or tag; None: the ref may be part of a commit id."""
        ref = self.ref
        names = ["HEAD"]
        if ref is not None:
            names = ["refs/heads/" + ref, "refs/tags/" + ref, "refs/" + ref, ref]
        done = self.must_run("ls-remote", "-q", "origin", *names)
        there = {line.partition("\t")[2] for line in done.out.splitlines()}
        for name in names:
            if name in there and (name == "HEAD" or name.startswith("refs/")):
                return name
        if ref is None:
            raise CannotDo("%s has no commit on its default branch" % self.url)
        if not SHORT_COMMIT.match(ref):
            raise self.no_such_ref()
        return None

    def no_such_ref(self):
        return CannotDo(
            "%s has no branch, tag or commit %s" % (self.url, self.ref), "check `ref` in the spec"
        )

    def fetch_one(self, name):
        return self.run_git("fetch", "-q", "--no-tags", "--depth=1", "origin", name)

    def fetch_all(self):
        names = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]
        self.must_run("fetch", "-q", "--no-tags", "origin", *names)

    def commit_of(self, name):
        done = self.run_git("rev-parse", "-q", "--verify", name + "^{commit}")
        if "ambiguous" in done.err:
            raise CannotDo(
                "several commits begin with %s" % name, "use more characters of the commit"
            )
        # A wrapper of git may print more: the commit is the last word.
        words = done.out.split()
        if done.status != 0 or not words or not FULL_COMMIT.match(words[-1]):
            raise self.no_such_ref()
        return words[-1]

    def fetch_submodules(self):
        """Fetch the submodules; return how many there are."""
        if not os.path.exists(os.path.join(self.part, ".gitmodules")):
            return 0
        words = ["submodule", "--quiet", "update", "--init", "--recursive"]
        if self.run_git(*words, "--depth=1").status != 0:  # some servers give no single commit
            done = self.run_git(*words)
            if done.status != 0:
                what = "%s, or one of its submodules" % self.url
                raise why_no_code(what, done.err, self.token is not None)
        done = self.must_run("submodule", "status", "--recursive")
        return len(done.out.splitlines())

    def has_lfs(self):
        """Whether files are in Git LFS: then only pointers to them were fetched."""
        words = ["grep", "-q", "filter=lfs", "--", ".gitattributes", "**/.gitattributes"]
        return self.run_git(*words).status == 0

    def must_run(self, *words):
        done = self.run_git(*words)
        if done.status != 0:
            raise why_no_code(self.url, done.err, self.token is not None)
        return done

    def run_git(self, *words):
        words = [self.git, *self.options, *words]
        return run(words, self.until, self.env, self.part, self.lock_fd)
