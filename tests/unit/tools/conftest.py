import sys
from pathlib import Path

# The tools are scripts, not a package: a script's own directory is what it imports from.
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
