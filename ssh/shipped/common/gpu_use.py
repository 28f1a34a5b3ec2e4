"""Which GPUs a run may get, by their use and by the login's own bounds.

`core/launch/preflight/gpu_reservations.py` of evalroom has the same rule about use.
"""

MIN_USED_BYTES = 1024**3
MIN_USED_SHARE = 0.05
MIN_UTILISATION = 20.0
"""A GPU with more memory in use than both, or with this utilisation (percent), is in use, though
its users can't be seen: processes in containers or of other pid namespaces."""


def unseen_use(used, total, utilisation):
    """Return how a GPU without visible processes is used, for the end of a sentence; None: not.

    `used` and `total` are bytes; None is unknown.
    """
    if used is not None and used > max(MIN_USED_BYTES, (total or 0) * MIN_USED_SHARE):
        return "%.1f GiB in use" % (used / 1024.0**3)
    if utilisation is not None and utilisation >= MIN_UTILISATION:
        return "%.0f%% utilisation" % utilisation
    return None


def hidden_by_login(indexes, uuids, env, is_amd):
    """Return {index: the variable, with its value} of the GPUs that the login's bounds hide.

    `uuids` are those of `indexes`. As in the driver, a list ends at its first word that names
    no GPU, and HIP_VISIBLE_DEVICES counts what ROCR_VISIBLE_DEVICES leaves.
    """
    hidden, left = {}, list(indexes)
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if is_amd else ("CUDA_VISIBLE_DEVICES",)
    for name in names:
        value = env.get(name)
        if value is None:
            continue
        numbers = range(len(left)) if name.startswith("HIP") else left
        by_word = {str(number): index for number, index in zip(numbers, left)}
        allowed = []
        for word in (word.strip() for word in value.split(",")):
            found = [by_word[word]] if word in by_word else []
            if word.startswith("GPU-"):
                known = [index for index, uuid in zip(indexes, uuids) if index in left and uuid]
                found = [i for i in known if uuids[indexes.index(i)].startswith(word)]
            if len(found) != 1:
                break
            allowed.append(found[0])
        hidden.update((i, "%s=%s" % (name, value[:80])) for i in left if i not in allowed)
        left = allowed
    return hidden
