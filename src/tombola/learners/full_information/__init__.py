"""Full-information learners."""
