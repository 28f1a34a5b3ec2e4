"""evalroom's probe: reads the Inspect evals of this machine while an operator is connected.

`evalroom` starts this program over SSH and talks to it through its standard input and output.
It is standard-library Python (3.8 or newer). It installs nothing, opens no
port, connects to no other host, and exits within a minute after its desk disconnects. It writes
one small file for each eval, in ~/.evalroom/polls, and removes it when that eval has ended.

What it does:
  - finds the Inspect processes of this user (their control sockets, discovery files, /proc);
  - sends the desk's requests to their control sockets (HTTP over a unix socket) and reports
    what changed;
  - reads logs of evals that have ended, with this machine's own Inspect, one start at a time;
  - reads GPUs, memory, load, disks and Docker every few seconds;
  - asks model servers of this machine (vLLM, SGLang, Ollama) for their health, on the loopback.

docs/frames.md of evalroom describes the messages. In short: a line of JSON, then as many
bytes as its `body` says.

Threads: the main one reads frames, one writes them, one ticks (the lease), one finds
processes, one talks to each eval process (one request in flight each), and each tool that
may hang (nvidia-smi, docker, a dead disk) has one of its own.
"""
