"""HTTP into the journal: an event is checked, kept, acknowledged and notified."""
