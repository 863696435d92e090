"""What the tests of jobs share stands in jobkit.py; other processes import it too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from jobkit import bench

__all__ = ["bench"]
