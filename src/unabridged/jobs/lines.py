"""JSON lines: an object a line, whatever a reader takes for the end of one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["json_line"]

# JSON may hold these as they are; readers that split at every kind of line end (str.splitlines) stop at them.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


def json_line(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON.

    >>> len(json_line({"text": chr(0x2028)}).splitlines())
    1
    """
    text = json.dumps(row, ensure_ascii=False)
    return _LINE_ENDS.sub(lambda letter: f"\\u{ord(letter[0]):04x}", text) + "\n"
