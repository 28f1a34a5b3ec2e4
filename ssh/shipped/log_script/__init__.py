"""Reads logs of Inspect. The interpreter of a machine's own Inspect runs this program.

It is given one JSON object as its argument, and prints an answer for each log (or one for a
sample) as soon as it has it, so that a log that hangs does not hide the logs before it. It only
reads; it runs niced, and is the first process that the kernel ends when memory runs out.
"""
