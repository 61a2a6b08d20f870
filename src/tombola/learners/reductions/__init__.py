"""Reductions: learners built from other learners."""
