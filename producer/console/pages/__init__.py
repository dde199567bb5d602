"""The console's pages: a thin door over `producer.admin`; each module is a page with what its forms do."""
