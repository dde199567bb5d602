"""The test event of `event send --sample`, with ids that no help desk assigns: sent, checked and removed again."""
