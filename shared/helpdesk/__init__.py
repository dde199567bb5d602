"""What is asked of the helpdesk: the facts that its events lack, and what has changed there."""
