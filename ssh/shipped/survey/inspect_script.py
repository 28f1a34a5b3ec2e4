"""The script that a run's own interpreter executes, to report on its Inspect and on tasks.

It prints answers as it runs, so that a task that hangs does not hide earlier results.
"""

from ssh.shipped.common.answers import ANSWER_LINE, NONCE_VARIABLE

INSPECT_SCRIPT = (
    "ANSWER_LINE, NONCE_VARIABLE = %r, %r" % (ANSWER_LINE, NONCE_VARIABLE)
    + r"""
import json, os, sys
nonce = os.environ.pop(NONCE_VARIABLE, "-")
out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
os.dup2(2, 1)
asked = json.loads(sys.argv[1])
sys.argv = sys.argv[:1]

def end_with_parent():
    try:
        import ctypes
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    except Exception:
        pass  # no Linux

end_with_parent()

def report(**row):
    text = json.dumps(row)
    out.write(ANSWER_LINE % (nonce, len(text), text))
    out.flush()

def text_of(error):
    return ("%s: %s" % (type(error).__name__, error)).strip()[:600]

report(python="%d.%d.%d" % tuple(sys.version_info[:3]), path=sys.executable)
try:
    from importlib.metadata import PackageNotFoundError, entry_points, version
    from importlib.util import find_spec
except ImportError as error:
    report(broken=text_of(error))
    os._exit(0)

def version_of(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None

def package(name):  # one that pip did not install has no version
    try:
        has_module = find_spec(name.replace("-", "_")) is not None
    except (ImportError, ValueError):
        has_module = False
    return version_of(name) or ("?" if has_module else None)

report(inspect=version_of("inspect_ai"), packages={n: package(n) for n in asked["packages"]})
if version_of("inspect_ai") is None:
    os._exit(0)
try:
    import inspect_ai
except BaseException as error:
    report(broken=text_of(error))
    os._exit(0)
try:
    from inspect_ai._cli.eval import eval_set_command
    params = eval_set_command.params
    report(options=sorted({o for p in params for o in (*p.opts, *p.secondary_opts)}))
except BaseException as error:
    report(options=None)
report(imported=True)

import ast, difflib, inspect, re, signal, time, traceback
from pathlib import Path
sys.dont_write_bytecode = True  # leave no file beside the task's
try:
    from inspect_ai._eval.loader import load_file_tasks
    from inspect_ai._util.registry import registry_find, registry_info, registry_lookup
except ImportError as error:
    for each in asked["tasks"]:
        report(task=each, state="unknown", error=text_of(error))
    os._exit(0)

def near(name, package):  # tasks with similar names
    try:
        found = registry_find(lambda info: info.type == "task")
        names = sorted(registry_info(each).name for each in found)
    except Exception:
        return []
    names = [each for each in names if each.rpartition("/")[0] == package]
    longer = [each for each in names if name.rpartition("/")[2] in each]
    return longer[:3] or difflib.get_close_matches(name, names, 3, 0.5) or names[:6]

def failure(error):
    rows = [f for f in traceback.extract_tb(error.__traceback__) if "<" not in f.filename[:1]]
    row = {"state": "fails", "error": text_of(error), "kind": type(error).__name__}
    row["module"] = getattr(error, "name", None) if isinstance(error, ImportError) else None
    own = [f for f in rows if os.sep + "inspect_ai" + os.sep not in f.filename]
    if own:
        row["place"] = "%s:%s" % (own[-1].filename, own[-1].lineno)
    return row

def load(name):
    path, at, short = name.rpartition("@")
    package = "" if at else name.partition("/")[0]
    if at and path.endswith((".py", ".ipynb")):
        path = os.path.expanduser(path)
        if not os.path.isabs(path):
            path = os.path.join(asked["folder"], path)
        if not os.path.isfile(path):
            return {"state": "no file", "error": path}
        load_file_tasks(Path(path).absolute())
        name = short
    else:
        points = [p for p in entry_points(group="inspect_ai") if p.name == package]
        if not points:
            return {"state": "no package", "module": package}
        for point in points:
            point.load()
    found = registry_lookup("task", name)
    if found is not None:
        return about(found)
    if at and path.endswith(".py"):  # Inspect skips a file that it can't parse
        ast.parse(Path(path).read_bytes(), path)
    return {"state": "no task", "near": near(name, package)}

COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
GENERIC_IMAGE = "aisiuk/inspect-tool-support"  # Inspect's, where a task has no file for Docker
NAMED = re.compile(
    r"\bsandbox\s*=\s*(?:SandboxEnvironmentSpec\s*)?[(\[]\s*(?:type\s*=\s*)?[\"']docker[\"']\s*,"
    r"([^@]{0,300})|[\"']docker:([^\"']+)[\"']"
)
FILE = re.compile(r"[\"']([^\"'\n]+)[\"']")
UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
USUAL_BYTES = 1024**3  # of a service without a limit beside others that have one

def size_of(text):  # a limit in a compose file, such as 512m or ${MEMORY:-2gb}
    text = re.sub(r"\$\{\w+:?-([^}]*)\}", r"\1", str(text)).strip()
    found = re.match(r"([0-9.]{1,20})\s*([kmgt]?)i?b?\Z", text, re.IGNORECASE)
    return int(float(found.group(1)) * UNITS[found.group(2).lower()]) if found else None

def part(table, *names):
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table

def of_compose(path):  # the memory of one sample's containers, and the images that they need
    import yaml
    with open(path, encoding="utf-8") as file:
        services = part(yaml.safe_load(file.read(1000000)), "services")
    sizes, images = [], []
    for service in (services if isinstance(services, dict) else {}).values():
        limit = part(service, "deploy", "resources", "limits", "memory")
        limit = part(service, "mem_limit") or limit
        count = part(service, "deploy", "replicas") or part(service, "scale") or 1
        sizes.append((size_of(limit or ""), count if isinstance(count, int) else 1))
        build, image = part(service, "build"), part(service, "image")
        if build:
            folder = build if isinstance(build, str) else str(part(build, "context") or ".")
            name = "Dockerfile" if isinstance(build, str) else part(build, "dockerfile")
            folder = os.path.join(os.path.dirname(path), folder)
            images += of_dockerfile(os.path.join(folder, str(name or "Dockerfile")))
        elif isinstance(image, str) and "$" not in image:
            images.append(image)
    known = any(each for each, _ in sizes)
    memory = sum((each or USUAL_BYTES) * count for each, count in sizes) if known else None
    return memory, images

def of_dockerfile(path):  # the images that it begins with
    stages, images = {"scratch"}, []
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(1000000)
    except OSError:
        return []
    for line in re.findall(r"^\s*FROM\s+(.*)$", text, re.IGNORECASE | re.MULTILINE):
        words = [word for word in line.split() if not word.startswith("--")]
        if words and "$" not in words[0] and words[0].lower() not in stages:
            images.append(words[0])
        if len(words) > 2:
            stages.add(words[2].lower())
    return images

def docker_file(task, text, chosen):  # the file that describes the containers; None: no such file
    folder = os.path.dirname(inspect.getsourcefile(task) or "")
    named = asked.get("sandbox")
    pairs = [c[1] for c in chosen if isinstance(c, (tuple, list)) and len(c) > 1]
    named = named or next((c for c in pairs if isinstance(c, str)), None)
    found = None if named else NAMED.search(text)
    if found:
        files = FILE.findall(found.group(1) or "")
        ends = (".yaml", ".yml", "Dockerfile")
        named = found.group(2) or next((file for file in files if file.endswith(ends)), None)
    if named:
        return os.path.join(folder, os.path.expanduser(named))
    paths = [os.path.join(folder, name) for name in (*COMPOSE, "Dockerfile")]
    return next((path for path in paths if os.path.isfile(path)), None)

def about(task):
    row = {"state": "ok", "arguments": None, "sandbox": None, "memory": None}
    try:
        task = inspect.unwrap(task)
        taken = inspect.signature(task).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in taken):
            row["arguments"] = [p.name for p in taken]
        given = [p.default for p in taken if "sandbox" in p.name]
        chosen = [c[0] if isinstance(c, (tuple, list)) and c else c for c in given]
        text = inspect.getsource(task)
        chosen += re.findall(r"\bsandbox\s*=\s*[(\[]?\s*[\"']([a-z][a-z0-9_-]*)", text)
        chosen += re.findall(r"SandboxEnvironmentSpec\(\s*(?:type=)?[\"']([a-z0-9_-]+)", text)
        row["sandbox"] = next((c.partition(":")[0] for c in chosen if isinstance(c, str)), None)
        path = docker_file(task, text, given)
        if path is None:
            row["images"] = [GENERIC_IMAGE] if row["sandbox"] == "docker" else []
        elif not os.path.isfile(path):
            row["missing_file"] = path
        elif path.endswith((".yaml", ".yml")):
            row["memory"], row["images"] = of_compose(path)
        else:
            row["images"] = of_dockerfile(path)
    except Exception:
        pass
    return row

def row_of(name):
    try:
        return load(name)
    except BaseException as error:
        return failure(error)

def load_apart(names):  # in a child, so that the next tasks do not find what these import
    pid = os.fork()
    if pid == 0:
        end_with_parent()
        for name in names:
            report(task=name, **row_of(name))
        os._exit(0)
    end = time.monotonic() + asked["seconds"]
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            break
        time.sleep(0.01)
    if not done:
        error = "importing it took longer than %d s" % asked["seconds"]
        report(tasks=names, state="slow", error=error)
    elif status:
        error = "importing it ended the interpreter (status %d)" % status
        report(tasks=names, state="fails", error=error)

groups = {}
for each in asked["tasks"]:  # the tasks of one package share one import
    key = each if "@" in each else each.partition("/")[0]
    groups.setdefault(key, []).append(each)
for names in groups.values():
    load_apart(names)
os._exit(0)
"""
)
