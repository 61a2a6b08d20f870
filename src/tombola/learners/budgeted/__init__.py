"""Learners under budgets: every action uses resources, and no budget is exceeded."""
