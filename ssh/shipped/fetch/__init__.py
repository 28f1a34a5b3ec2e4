"""evalroom's fetch: gets what a run needs onto this machine: uv, packages, code, data, images.

Python 3.8 or newer, the standard library alone. It is started for one job: it reads one line of
JSON on its standard input (`verb`, `given`, `secrets`, and `body`: how many bytes follow the
line), answers with one line, and exits. Each job can be repeated without harm. When the input
ends, no one waits for the answer any more: it kills its children and exits.
"""
