"""Knowledge articles: their format (SPEC 2.5), and the articles that ship with deskbridge."""
