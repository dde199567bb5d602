"""The console's pages: a thin front end over `producer.admin`; each module is a page with its forms' actions."""
