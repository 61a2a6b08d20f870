"""Statements judged by their words: parser, harness, and sentences that were once false."""
