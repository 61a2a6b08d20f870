"""Races inside other programs, and readers of what they have written; each needs the package it is named after."""
