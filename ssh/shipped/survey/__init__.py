"""evalroom's survey: reads facts about this machine before a launch, and changes nothing.

Python 3.8 or newer, the standard library alone. It is started for one job: it reads one line of
JSON on its standard input (`verb`, `given`, `secrets`), answers with one line, and exits.

Each part is read in a thread of its own with a time limit. A part that hangs is reported as
stuck, and the programs that it started are killed. A tool that is missing, fails or prints
garbage is a fact, too. Only one part takes seconds: to find out about a task, the run's own
Inspect imports it, as the eval would.
"""
