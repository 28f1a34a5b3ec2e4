"""Which GPUs a run may get, by their use and by the login's own bounds.

`core/launch/preflight/gpu_reservations.py` of evalroom has the same rule about use.
"""

MIN_USED_BYTES = 1024**3
MIN_USED_SHARE = 0.05
MIN_UTILISATION = 20.0
"""A GPU with more memory in use than both, or with this utilisation (percent), is in use, though
its users can't be seen: processes in containers or of other pid namespaces."""
OUTSIDE = "is in use by processes that have other pids outside this container"
"""Why a GPU with listed processes is in use, in a container with pids of its own: the list has the
pids of the host, and in the container another process may have the same pid."""


def unseen_use(used, total, utilisation):
    """Return how a GPU without visible processes is used, for the end of a sentence; None: not.

    `used` and `total` are bytes; None is unknown.
    """
    if used is not None and used > max(MIN_USED_BYTES, (total or 0) * MIN_USED_SHARE):
        return "%.1f GiB in use" % (used / 1024.0**3)
    if utilisation is not None and utilisation >= MIN_UTILISATION:
        return "%.0f%% utilisation" % utilisation
    return None


def hidden_by_login(gpus, env, is_amd):
    """Return {index: why} of the GPUs that the login's bounds hide, or may hide.

    `gpus` are rows with `index`, `uuid` and, for NVIDIA, `name`. As in the driver, a list ends at
    its first word that names no GPU, and HIP_VISIBLE_DEVICES counts what ROCR_VISIBLE_DEVICES
    leaves. Without CUDA_DEVICE_ORDER=PCI_BUS_ID, CUDA counts the fastest GPU first: a number says
    which GPU it means only if all GPUs are of one kind.
    """
    hidden, left = {}, [gpu["index"] for gpu in gpus]
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if is_amd else ("CUDA_VISIBLE_DEVICES",)
    for name in names:
        value = env.get(name)
        if value is None:
            continue
        setting = "the login's %s=%s" % (name, value[:80])
        allowed, has_number = bounded(gpus, left, value, is_relative=name.startswith("HIP"))
        if has_number and len(allowed) < len(left) and not (is_amd or is_order_known(gpus, env)):
            text = "may be hidden by %s, which counts the fastest GPU first: add"
            text += " CUDA_DEVICE_ORDER=PCI_BUS_ID to the login, or name UUIDs there"
            return {gpu["index"]: text % setting for gpu in gpus}
        hidden.update((i, "is hidden by " + setting) for i in left if i not in allowed)
        left = allowed
    return hidden


def bounded(gpus, left, value, is_relative):
    """Return the indexes of `left` that a list of GPUs names, and whether it has a number."""
    numbers = range(len(left)) if is_relative else left
    by_word = {str(number): index for number, index in zip(numbers, left)}
    allowed, has_number = [], False
    for word in (word.strip() for word in value.split(",")):
        found = [by_word[word]] if word in by_word else []
        has_number = has_number or bool(found)
        if word.startswith("GPU-"):
            known = [gpu for gpu in gpus if gpu["index"] in left and gpu["uuid"]]
            found = [gpu["index"] for gpu in known if gpu["uuid"].startswith(word)]
        if len(found) != 1:
            break
        allowed.append(found[0])
    return allowed, has_number


def is_order_known(gpus, env):
    """Return whether a number in CUDA_VISIBLE_DEVICES is nvidia-smi's index of that GPU."""
    kinds = {gpu["name"] for gpu in gpus if gpu["uuid"]}
    return env.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len(kinds) < 2
