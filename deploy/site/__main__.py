"""`python -m deploy.site DIRECTORY`: write the site's pages there, for mkdocs (`make site`)."""

import sys
from pathlib import Path

from deploy.site import pages

pages.write(Path(sys.argv[1]))
