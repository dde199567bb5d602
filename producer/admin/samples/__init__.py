"""A test event with ids that no helpdesk gives: sent, looked at, and removed again."""
