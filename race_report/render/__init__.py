"""Renderings of valid reports: they print, and leave arithmetic to `accounting`."""
