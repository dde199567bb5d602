"""A stand-in for a Redmine-style project tracker: an HTTP server for tests, benchmarks and `make run`.

It answers deskbridge's calls as a Redmine 5.0, 6.0 or 6.1 does, keeps its data in memory, and can be
made to fail over HTTP (`/_control`). Modules, from the inside out:

* `releases`: what differs between the versions.
* `records`, `state`, `seed`, `persistence`: the data.
* `texts`, `answers`, `views`: the responses.
* `permissions`, `fields`, `issues`, `time_entries`, `projects`, `memberships`, `filters`, `reading`:
  the tracker's decisions.
* `access`, `calls`, `routes`: from a request to its decision.
* `faults`, `requestlog`, `controlplane`: controls and logs for tests.
* `wire`, `delivery`, `server`: HTTP.
* `control`: the driver for tests.
"""
