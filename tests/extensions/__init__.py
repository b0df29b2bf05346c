"""One deliberately small implementation of every seam; each is tested and doubles as the how-to."""
