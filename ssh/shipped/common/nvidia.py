"""Queries of nvidia-smi."""

from ssh.shipped.common.tools import run_to_end


def query_nvidia(tool, what, names, timeout_s):
    """Query `gpu` or `compute-apps`; return (run, names, rows), each row a list of cells.

    If an older driver does not know the last name (MIG), the query is repeated without it.
    """
    query = "--query-%s=%s" % (what, ",".join(names))
    run = run_to_end([tool, query, "--format=csv,noheader,nounits"], timeout_s)
    if run.code and b"not a valid field" in run.out + run.err and names[-1].startswith("mig."):
        return query_nvidia(tool, what, names[:-1], timeout_s)
    lines = run.out.decode("utf-8", "replace").splitlines()
    return run, names, [[cell.strip() for cell in line.split(",")] for line in lines]
