"""Knowledge records: their shape (SPEC 2.5), and the records that ship with deskbridge."""
