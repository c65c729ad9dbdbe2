"""Figures of valid reports: series are worked out without matplotlib, and drawn with it."""
