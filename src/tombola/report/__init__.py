"""Charts, figures and HTML pages, independent of learners."""
