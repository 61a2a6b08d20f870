"""Elimination rules: which candidates a race drops, and when it ends; one file per question."""
