"""The program: use-cases, command line, reports and (in `ui`) the window."""
