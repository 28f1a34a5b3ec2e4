"""Command lines without secrets, and names of the variables that an eval reads."""

import re

MAX_ARGV_BYTES = 8 * 1024
VARIABLE_NAME = re.compile(
    r"^(INSPECT_|HF_|XDG_DATA_HOME\Z|CUDA_VISIBLE_DEVICES\Z|[A-Z0-9_]{1,40}_(API_KEY|BASE_URL|TOKEN)\Z"
    r"|(AWS|AZURE|GOOGLE|OPENAI|ANTHROPIC|VLLM|OLLAMA)_[A-Z0-9_]{1,40}\Z)"
)
"""Names of variables that an eval may have read at its start; their values are never sent."""
SECRET_NAME = re.compile(
    r"(^|[-_.])(key|token|pwd|bearer)\Z"
    r"|(api|access|secret|private|auth)[-_]?(key|token)s?\Z|secret|passw|passphrase|credential",
    re.IGNORECASE,
)
SECRET_VALUE = re.compile(
    r"(sk-|hf_|ghp_|gho_|github_pat_|glpat-|xox[abpr]-|AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_\-.]{8,}"
)
URL_SECRET = re.compile(r"(//[^/:@\s]*:)[^@/\s]+@")


def redacted(argv):
    """Return a command line with *** in place of possible secrets, cut at MAX_ARGV_BYTES."""
    out, hide, size = [], None, 0
    for word in argv:
        if hide == "value":
            word, hide = "***", None
        elif hide == "pair":
            word, hide = word.partition("=")[0] + ("=***" if "=" in word else ""), None
        elif word in ("-M", "--env", "--model-args"):
            hide = "pair"
        elif re.match(r"-M.", word) and not word.startswith("--"):
            word = word.partition("=")[0] + "=***"
        elif word.startswith(("--env=", "--model-args=")):
            option, _, pair = word.partition("=")
            word = option + "=" + pair.partition("=")[0] + "=***"
        else:
            name, equals, _ = word.partition("=")
            if SECRET_NAME.search(name.lstrip("-")):
                if equals:
                    word = name + "=***"
                elif word.startswith("-"):
                    hide = "value"
            word = SECRET_VALUE.sub("***", word)
            word = URL_SECRET.sub(r"\1***@", word)
        size += len(word.encode("utf-8", "replace")) + 1
        if size > MAX_ARGV_BYTES:
            out.append("...")
            break
        out.append(word)
    return out
