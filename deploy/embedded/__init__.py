"""Redis and PostgreSQL on this machine, out of Python packages, and the child processes beside them.

For trying deskbridge out and for its tests: no root, no package manager, no container. Every server listens
on 127.0.0.1 only, and none outlives the process that started it.
"""
