"""Runs that kill processes at random moments."""
