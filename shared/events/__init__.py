"""What an event becomes, without anything stored."""
