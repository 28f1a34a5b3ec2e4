"""Programs that run on machines, Python 3.8 or newer, the standard library alone.

A folder is a program: `__init__.py` describes it, `main.py` runs it. `common` holds the parts
that several programs need. `ssh/shipped_program.py` joins a program's files into the one text
that is sent; what `second_part.py` alone needs may be sent later. `tasks` holds files that are sent
as they are.

The files import each other in one form only, `from ssh.shipped.common.tools import run_tool`, never
under another name, and all imports are at the top: the joined text leaves these lines out.
Nothing else of evalroom is imported here.
"""
