"""Where the packaged program starts: a second name of it (stackfit-gui) opens the window."""

import sys
from pathlib import Path

from advisor_gui.__main__ import main, window

if __name__ == "__main__":
    sys.exit(window() if Path(sys.argv[0]).stem == "stackfit-gui" else main())
