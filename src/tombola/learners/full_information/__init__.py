"""Learners with full information: after the delay they observe the losses of all actions."""
