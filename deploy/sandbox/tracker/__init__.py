"""A stand-in for a Redmine-style project tracker: an HTTP server for tests, benchmarks and `make run`.

It answers the calls that the service makes as a Redmine 5.0, 6.0 or 6.1 does, keeps its data in memory, and can be
told over HTTP (`/_control`) to misbehave. Modules, from the inside out:

* `releases`: what differs between the versions.
* `records`, `state`, `seed`, `persistence`: the data.
* `texts`, `answers`, `views`: what an answer looks like.
* `permissions`, `fields`, `issues`, `time_entries`, `projects`, `memberships`, `filters`, `reading`:
  what the tracker decides.
* `access`, `calls`, `routes`: from a request to a decision.
* `faults`, `requestlog`, `controlplane`: what tests steer and see.
* `wire`, `delivery`, `server`: the socket.
* `control`: the driver for tests.
"""
