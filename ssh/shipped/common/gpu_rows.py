"""The row of a GPU: bytes, Celsius, watts, percent; None is unknown."""

GPU_FIELDS = ("uuid", "utilisation", "memory_used", "memory_total", "temperature", "power")
GPU_FIELDS += ("power_limit",)


def blank_gpu(index):
    row = dict.fromkeys(GPU_FIELDS)
    row.update(index=index, name="", mig=None, pids=[], lost=False)
    return row
