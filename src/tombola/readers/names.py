"""Names: what a column's name says it is, by its first and last word; a guess, which is always told."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

Like: TypeAlias = Literal["loss", "score", "cost", "date", "feature", "label", "plain"]

IDS = ("ids", "id", "row", "row_id", "instance_id")
_ALSO_IDS = (
    "index", "idx", "key", "uuid", "guid", "no", "nr", "#", "name", "instance", "question", "prompt", "item",
    "example", "sample", "task", "query", "case", "customer", "user", "unnamed: 0",
)  # fmt: skip
_LOSS = frozenset({"loss", "losses", "error", "errors", "err", "regret", "penalty", "wrong"})
_SCORE = frozenset({
    "score", "scores", "accuracy", "acc", "reward", "rewards", "f1", "auc", "bleu", "rouge", "precision", "recall",
    "quality", "rating", "correct", "success", "passed", "win", "wins", "won", "solved", "utility", "profit",
    "revenue", "gain",
})  # fmt: skip
_COST = frozenset({
    "cost", "costs", "price", "prices", "usd", "dollars", "eur", "euros", "cents", "seconds", "secs", "sec", "ms",
    "millis", "minutes", "hours", "latency", "duration", "runtime", "tokens", "energy",
})  # fmt: skip
_DATE = frozenset({"date", "dates", "timestamp", "datetime"})
_FEATURE = frozenset({"feature", "features", "feat", "embedding", "emb"})
_LABEL = frozenset({
    "label", "labels", "target", "split", "fold", "category", "group", "cluster", "stratum", "strata", "weight",
    "seed", "gold", "answer", "y_true", "ground_truth", "time", "day", "month", "year",
})  # fmt: skip


def likeness(name: str) -> Like:
    """Say what a name looks like.

    >>> [likeness(name) for name in ("gpt_cost", "Accuracy", "created date", "x12", "split", "llama-3")]
    ['cost', 'score', 'date', 'feature', 'label', 'plain']
    """
    words = _words(name)
    ends = {words[0], words[-1]} if words else set()
    if name.strip().lower() in _LABEL:
        return "label"
    if re.fullmatch(r"x_?\d+", name.strip().lower()) or ends & _FEATURE:
        return "feature"
    kinds: tuple[tuple[Like, frozenset[str]], ...] = (
        ("date", _DATE), ("loss", _LOSS), ("score", _SCORE), ("cost", _COST)
    )  # fmt: skip
    return next((kind for kind, known in kinds if ends & known), "plain")


def says_reward(name: str) -> bool:
    """Say whether a name calls its numbers rewards, which leaves no doubt."""
    words = _words(name)
    return bool({*words[:1], *words[-1:]} & {"reward", "rewards"})


def like_id(name: str) -> bool:
    """Say whether a name looks like that of an id."""
    words = _words(name)
    return name.strip().lower() in (*IDS, *_ALSO_IDS, "") or "id" in (words[:1] + words[-1:])


def stem(name: str) -> str:
    """Return a name without the word that says what it is, in small letters.

    >>> stem("gpt-4_cost"), stem("loss: small model"), stem("loss")
    ('gpt 4', 'small model', '')
    """
    words = _words(name)
    for at in (0, -1):
        if words and words[at] in _LOSS | _SCORE | _COST:
            words.pop(at)
            break
    return " ".join(words)


def without(name: str) -> str:
    """Return a name without the word that says what it is, as it is written.

    >>> without("GPT-4_loss"), without("loss: small model")
    ('GPT-4', 'small model')
    """
    words = "|".join(sorted(_LOSS | _SCORE, key=len, reverse=True))
    cut = re.sub(rf"^(?:{words})[\s_:.\-/]+|[\s_:.\-/]+(?:{words})$", "", name.strip(), flags=re.IGNORECASE)
    return cut or name


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Return the names that are this one, or match it as a pattern such as cost_*."""
    names = list(names)
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]


def held(pattern: str, name: str) -> str:
    """Return what the star of a pattern stands for in a name that matches.

    >>> held("cost_*", "cost_gpt"), held("*_usd", "gpt_usd")
    ('gpt', 'gpt')
    """
    before, _, after = pattern.partition("*")
    return name[len(before) : len(name) - len(after)]


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\s_:.\-/()\[\]]+", name.strip().lower()) if word]
