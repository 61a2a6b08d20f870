"""Hypothesis classes, each with its online ERM and its dimensions."""
