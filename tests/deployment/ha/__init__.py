"""Real servers for the tests of high availability: on loopback, on free ports, stopped after the test."""
