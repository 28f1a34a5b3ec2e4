"""evalroom's GPU holder: reserves GPUs for a run, starts the run on them, and holds them.

Python 3.8 or newer, the standard library alone. It is in the run's folder, and the run's
script starts it there with these arguments:

    HOW_MANY  FOLDER  keep|become  RUN  COMMAND...

FOLDER holds the reservations; empty means the usual folder. `core/launch/preflight/
gpu_reservations.py` of evalroom says how a reservation is stored and what counts as one. COMMAND
gets EVALROOM_RUN, which the script leaves to us, and CUDA_VISIBLE_DEVICES: indexes of GPUs in
the order of nvidia-smi, which CUDA_DEVICE_ORDER=PCI_BUS_ID makes that of CUDA. The login's own
CUDA_VISIBLE_DEVICES bounds the GPUs that are given.

With `become` this process turns into COMMAND, which inherits the locks. `keep` is for a COMMAND
that starts its eval in the background with every descriptor closed. Then a small process stays:
it adopts what COMMAND leaves behind (Linux gives it the orphans of its children), and holds the
locks until the eval is gone. It has a session of its own, no terminal, none of the run's secrets
and no EVALROOM_RUN, so that it is not mistaken for the eval. If it is killed, the eval's pid and
start are still in the lock files.

Unless nvidia-smi (or rocm-smi) answers, nothing is reserved and nothing is started: the free
GPUs are unknown then.
"""
