"""`python -m race_report` is the command `race`."""

from race_report.cli import main

main()
