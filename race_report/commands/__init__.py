"""The commands of `race`, a module each: arguments in, exit codes out; the work is done elsewhere.

Imports stay within the functions: a command must not wait for what it does not use.
"""
