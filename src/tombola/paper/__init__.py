"""Executable claims: the statements of the paper, and our extensions of it.

The paper is "Online Learning in the Random Order Model" (Bernasconi, Celli, Colini Baldeschi,
Fusco, Leonardi, Russo; ICML 2025). L215 is line 215 of its LaTeX source; so are all such numbers in
this package.
"""
