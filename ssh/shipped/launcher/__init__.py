"""evalroom's launcher: starts runs on this machine, finds them again, and reads their results.

Python 3.8 or newer, the standard library alone. It is started for one job: it reads one line of
JSON on its standard input (`verb`, `given`, `secrets`), answers with one line, and exits. A run
that it starts has a session of its own, so that the run goes on when the link is cut.
"""
