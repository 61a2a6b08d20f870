"""Fuzzers: damaged, changed and forged files, each tried in a child process."""
