"""Additions to the text of a report, in which everything that stands stays as it is, byte for byte.

Libraries that round-trip YAML write the whole text anew: ruamel.yaml 0.19 changed 20 of the 55 lines of the worked
example without any edit, and the line ends of a file from Windows. So what is new is inserted at places that the
parsers of this package know; the result is read again, and refused unless it says the old value and the additions.
"""

from race_report.edit.insertions import Uneditable, with_additions

__all__ = ["Uneditable", "with_additions"]
