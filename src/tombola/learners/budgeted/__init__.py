"""Learners under budgets: actions use resources, and no budget is exceeded."""
