"""The command line `deskbridge`: one small module per group of commands; heavy imports are deferred."""
