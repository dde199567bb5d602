"""HTTP into the journal: an event is checked, stored and acknowledged, and its ticket notified."""
