"""Nine ways to cut, one file each."""
