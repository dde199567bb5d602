"""Redis and PostgreSQL on this machine, from Python packages, and other child processes.

For trying out deskbridge and for its tests: no root, no package manager, no container. Every server listens
only on 127.0.0.1 and ends with the process that started it.
"""
