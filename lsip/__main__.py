"""`python -m lsip`, where the script `lsip` is not on the path."""

import sys

from .cli import main

sys.exit(main())
