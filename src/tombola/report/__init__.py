"""Report: rows of numbers to pictures and pages; knows nothing of learners."""
