"""Adapters to other packages: races inside them, and readers of their logs."""
