"""Full-information learners.

Learners are registered in `_MODULES` of `learners/__init__.py`.
"""
