"""Elimination rules: which candidates a race drops, and when it ends; one file per question.

A question is registered in `RaceSettings._rule_of` (`racing/settings.py`).
"""
