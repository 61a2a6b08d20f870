"""Classification of columns by the first and last word of their names."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Literal, TypeAlias

from tombola.tables.vocabulary import doubt, tokens
from tombola.units import Kind

# Role that the name of a column suggests; "plain" suggests none, so that it may be an action.
_NameClass: TypeAlias = Literal["loss", "score", "cost", "date", "feature", "label", "plain"]

# Names, in lower case, of arrays in an NPZ archive and of columns in a long table; delays are in
# rounds.
LOSSES = ("losses", "loss")
SCORES = ("scores", "score", "rewards", "reward")
COSTS = ("costs", "cost")
DELAYS = ("delays", "delay")
IDS = ("ids", "id", "row", "row_id", "instance_id")
# Names of a column of actions. Each of these alone marks a long table: every line has one action.
ACTION = ("action", "logged_action", "chosen_action")
# Further names of a column of actions. They mark a long table only beside a column of losses,
# scores or probabilities, because a wide table may have such a column, too.
WEAK_ACTION = ("algorithm", "model", "method", "solver", "arm")
# Names of columns with the probability with which a logged action was chosen.
PROBABILITY = ("propensity", "probability", "pscore", "action_prob", "logged_probability")

_WEAK_IDS = (
    "index", "idx", "key", "uuid", "guid", "no", "nr", "#", "name", "instance", "question", "prompt", "item",
    "example", "sample", "task", "query", "case", "customer", "user", "unnamed: 0", "qid", "pid", "uid", "cid", "sid",
    "tid", "rid", "eid", "docid", "userid", "itemid", "taskid", "rowid",
)  # fmt: skip
# Last words of names for ids, such as "Customer No".
_NUMBER_WORDS = frozenset({"no", "nr", "number", "key", "uuid", "guid", "#"})
# German and Dutch words that end in one for a number, such as Kundennr; psnr is a quality.
_NUMBER_COMPOUND = re.compile(r"\w{3,}(?<!ps)nr|\w{3,}nummer")
_LOSS = frozenset({
    "loss", "losses", "error", "errors", "err", "regret", "penalty", "wrong", "mse", "rmse", "mae", "brier",
    "perplexity", "ppl", "wer", "cer", "failed", "failures", "mistakes",
})  # fmt: skip
_SCORE = frozenset({
    "score", "scores", "accuracy", "acc", "reward", "rewards", "f1", "auc", "bleu", "rouge", "precision", "recall",
    "quality", "rating", "correct", "success", "passed", "win", "wins", "won", "solved", "utility", "profit",
    "revenue", "gain",
})  # fmt: skip
_COST = frozenset({
    "cost", "costs", "price", "prices", "usd", "dollars", "eur", "euros", "cents", "seconds", "secs", "sec", "ms",
    "millis", "minutes", "hours", "latency", "duration", "runtime", "time", "times", "tokens", "energy",
})  # fmt: skip
_DATE = frozenset({"date", "dates", "timestamp", "datetime"})
_FEATURE = frozenset({"feature", "features", "feat", "embedding", "emb"})
_GROUP = frozenset({
    "category", "group", "cluster", "stratum", "strata", "split", "fold", "topic", "domain", "subject", "language",
    "segment",
})  # fmt: skip
_LABEL = _GROUP | {
    "label", "labels", "target", "weight", "seed", "gold", "answer", "y_true", "ground_truth", "time", "day", "month",
    "year",
}  # fmt: skip
_RUN = frozenset({
    "run", "epoch", "trial", "seed", "attempt", "repeat", "repetition", "rep", "replicate", "replication", "iteration",
    "try", "round", "pass",
})  # fmt: skip
# Words for a column whose cells are candidates.
_CANDIDATE_COLUMN = frozenset({
    "model", "models", "system", "systems", "method", "methods", "solver", "solvers", "algorithm", "algorithms",
    "candidate", "candidates", "agent", "agents", "approach", "variant", "variants", "arm", "arms", "action", "actions",
    "engine", "llm", "bot", "classifier", "checkpoint", "submission", "config", "configuration", "strategy", "policy",
    "participant", "team", "tool", "technique", "competitor", "entrant", "treatment",
})  # fmt: skip
# Words for rows, which are columns of a table with candidates in its rows: q1, item_3.
_ITEM = frozenset({
    "q", "question", "questions", "item", "task", "case", "test", "example", "problem", "instance", "inst", "sample",
    "row", "ex", "doc", "query", "puzzle", "exercise", "id",
})  # fmt: skip
# Words of the names of well-known models and benchmarks, which say what a row or a column is.
_MODEL = re.compile(
    r"(?<![a-z])(gpt|claude|llama|mistral|mixtral|gemini|gemma|qwen|deepseek|phi|falcon|vicuna|bert|roberta|t5|palm|"
    r"command-r|grok|kimi|glm|xgboost|lightgbm|random forest|svm|logistic regression|lasso|resnet|vit)(?![a-z])"
)
_BENCHMARK = re.compile(
    r"mmlu|gsm-?8k|hellaswag|truthfulqa|humaneval|arc[-_ ]?(c|e|challenge|easy)?|winogrande|bbh|mbpp|math|gpqa|ifeval|"
    r"mt-?bench|alpacaeval|squad|glue|superglue|boolq|piqa|drop|imagenet|cifar-?\d*|swe-?bench.*"
)
# Words for results that are adjectives, too: in front of another word they describe a candidate.
_ADJECTIVES = frozenset({"wrong", "correct", "passed", "failed", "solved", "won"})
# Names of columns of free text, which are no ids beside a column that may be.
_FREE_TEXT = frozenset({
    "answer", "expected", "reference", "gold", "target", "truth", "label", "response", "output", "completion",
    "comment", "comments", "remark", "remarks", "note", "notes", "text", "description", "url", "link", "email",
    "address", "context", "passage", "rationale", "explanation", "feedback", "title", "summary", "solution",
})  # fmt: skip
# Words for means, sums, and either, also in German, French, Spanish, Italian, Portuguese and Dutch
# spreadsheets.
_MEAN = frozenset({
    "mean", "average", "avg", "mittelwert", "durchschnitt", "mittel", "moyenne", "promedio", "media", "média",
    "gemiddelde", "gemiddeld", "ø",
})  # fmt: skip
_SUM = frozenset({
    "sum", "total", "totals", "summe", "gesamtsumme", "somme", "totaux", "suma", "totales", "somma", "totale", "totali",
    "soma", "totais", "som", "totaal", "σ", "∑",
})  # fmt: skip
_MEAN_OR_SUM = frozenset({"overall", "gesamt", "insgesamt"})
# Ids of a last line that sums up the others.
SUMMARY_IDS = _MEAN | _SUM | _MEAN_OR_SUM | {"median", "médiane", "mediana", "mediaan"}
_PARTIAL_SUM = frozenset({"subtotal", "subtotals", "zwischensumme", "soustotal"})
# Further words of rows that describe the others, such as the points that are possible.
_ROW_WORDS = frozenset({
    "max", "min", "maximum", "minimum", "best", "worst", "possible", "target", "goal", "quota", "budget", "std", "sd",
    "stdev", "variance", "count", "all", "points", "weight", "weights", "unit", "units", "change", "diff", "difference",
    "previous", "prior", "benchmark", "reference", "expected", "ziel", "soll", "vorjahr", "maximal", "minimal",
    "einheit", "objectif", "meta", "objetivo", "obiettivo", "aggregate", "combined", "rank", "range", "spread",
    "limit", "n",
})  # fmt: skip
_SUMMARY_ADJECTIVES = frozenset(
    {"sub", "grand", "macro", "micro", "weighted", "all", "row", "rows", "of", "sous"}
)
# Function of the other columns -> words that name it. Whether best is the largest depends on the
# direction.
_SUMMARIES = {
    "largest": {"max", "maximum", "highest", "best", "worst"},
    "smallest": {"min", "minimum", "lowest", "best", "worst"},
    "mean": _MEAN | _MEAN_OR_SUM,
    "sum": _SUM | _MEAN_OR_SUM,
    "place of the largest": {"argmax", "best", "worst", "rank"},
    "place of the smallest": {"argmin", "best", "worst", "rank"},
}
_SUMMARY = SUMMARY_IDS.union(*_SUMMARIES.values())
# Words that reverse the one after them, as in no_errors: such names state no direction.
_NEGATIONS = frozenset(
    {"no", "not", "non", "without", "negative", "neg", "inverse", "inverted", "minus"}
)
# Words that reverse the one before them, as in error_free and time_saved.
_REVERSALS = frozenset(
    {"free", "saved", "saving", "savings", "reduction", "reduced", "avoided", "left"}
)
# Words that state a direction by themselves; others, as time or price, leave a doubt.
_CERTAIN = frozenset({*LOSSES, *SCORES, "error", "errors", "accuracy", "acc", "correct"})
# Words for what is bad where it is high: beside a word for a score, as in risk_score, they state no
# direction.
_ADVERSE = frozenset({
    "hallucination", "hallucinations", "toxicity", "toxic", "risk", "risks", "distance", "deviation", "divergence",
    "harm", "harmfulness", "bias", "severity", "uncertainty", "violation", "violations", "refusal", "refusals",
    "failure", "fail", "defect", "defects", "spam", "churn", "anomaly", "fraud", "delay", "lower",
})  # fmt: skip
# "brier score" is a loss although "score" alone is not.
_LOSS_ALTHOUGH_SCORE = frozenset({"brier"})


def classify_name(name: str) -> _NameClass:
    """Return the role that the first and last word of a name suggest, or "plain".

    >>> [classify_name(name) for name in ("gpt_cost", "Accuracy", "created date", "x12", "split", "llama-3")]
    ['cost', 'score', 'date', 'feature', 'label', 'plain']
    """
    ends = _end_words(name)
    if name.strip().lower() in _LABEL:
        return "label"
    if re.fullmatch(r"x_?\d+", name.strip().lower()) or ends & _FEATURE:
        return "feature"
    classes: tuple[tuple[_NameClass, frozenset[str]], ...] = (
        ("date", _DATE), ("loss", _LOSS), ("score", _SCORE), ("cost", _COST)
    )  # fmt: skip
    return next((kind for kind, words in classes if ends & words), "plain")


def suspected_role(name: str) -> str:
    """Return the role beside candidate that a name suggests, as a reason for a question; "" if none.

    >>> suspected_role("n_tokens"), suspected_role("gpt_cost"), suspected_role("gpt-4")
    ('its name is usual for a cost', 'its name is usual for a cost', '')
    >>> suspected_role("difficulty"), suspected_role("x1")
    ('its name is usual for a property of a row', 'its name is usual for a feature')
    """
    words = _words(name)
    name_class = classify_name(name)
    # An adjective in front describes a candidate, as in wrong-bot.
    if len(words) > 1 and words[0] in _ADJECTIVES:
        name_class = classify_name(" ".join(words[1:]))
    if is_summary_name(name):
        return "its name is usual for a summary of others"
    if name_class not in ("plain", "label"):
        return f"its name is usual for a {name_class}"
    if has_feature_prefix(name):
        return "its name is usual for a feature"
    if is_run_name(name):
        return "its name is usual for the number of a run"
    if name_class == "label":
        return "its name is usual for a property of a row"
    meaning = doubt(name)
    return f"its name is usual for {meaning}" if meaning else ""


def common_word(names: Sequence[str]) -> str:
    """Return the first or last word that all names have in common beside another one, or "".

    >>> common_word(["gpt_prob", "llama_prob"]), common_word(["level 1", "level 2"]), common_word(["a", "b"])
    ('prob', 'level', '')
    """
    split = [_words(name) for name in names]
    if len(split) < 2 or any(len(words) < 2 for words in split):
        return ""
    for at in (-1, 0):
        if len({words[at] for words in split}) == 1:
            return split[0][at]
    return ""


def is_candidate_column_name(name: str) -> bool:
    """Return whether a name is usual for a column whose cells are candidates, such as model."""
    words = _words(name)
    return bool(words) and (
        words[-1] in _CANDIDATE_COLUMN
        or (len(words) > 1 and words[0] in _CANDIDATE_COLUMN and words[-1] in ("name", "id"))
    )


def are_item_names(names: Sequence[str]) -> bool:
    """Return whether all names are a word for a row and a number, such as q1 and q2, or benchmarks.

    >>> are_item_names(["q1", "q2"]), are_item_names(["hint1", "hint2"]), are_item_names(["MMLU", "GSM8K"])
    (True, False, True)
    """
    lower = [name.strip().lower() for name in names]
    if len(lower) < 2:
        return False
    matches = [re.fullmatch(r"([a-z]+)[\s_.\-#]*\d+", name) for name in lower]
    if all(match is not None and match[1] in _ITEM for match in matches):
        return True
    return all(_BENCHMARK.fullmatch(name) for name in lower)


def are_model_names(labels: Sequence[str]) -> bool:
    """Return whether at least half of the labels have the name of a well-known model."""
    return 2 * sum(_MODEL.search(label.lower()) is not None for label in labels) >= len(labels)


def is_free_text_name(name: str) -> bool:
    """Return whether a name is usual for a column of free text, such as comment."""
    return {*_words(name)[-1:]} <= _FREE_TEXT and bool(_words(name))


def is_bare_metric(name: str) -> bool:
    """Return whether a name is a metric and no more, such as accuracy: no candidate is named."""
    return classify_name(name) in ("loss", "score", "cost") and not action_stem(name)


def has_feature_prefix(name: str) -> bool:
    """Return whether a name without another role starts with f_, as features often do.

    >>> has_feature_prefix("f_0"), has_feature_prefix("f_score"), has_feature_prefix("f0")
    (True, False, False)
    """
    return name.strip().lower().startswith("f_") and classify_name(name) == "plain"


def value_names(kind: Kind | None) -> tuple[str, ...]:
    """Return the names of values of a direction, or of both, that long tables and archives use."""
    return {"losses": LOSSES, "scores": SCORES, None: (*LOSSES, *SCORES)}[kind]


def direction_of(names: Sequence[str]) -> tuple[Kind | None, str]:
    """Return the direction and the unit that all of these column names state.

    Without a common one they are None and "".

    >>> direction_of(["gpt_accuracy", "llama_accuracy"]), direction_of(["gpt", "llama"])
    (('scores', 'accuracy'), (None, ''))
    >>> direction_of(["no_errors"]), direction_of(["time_saved"]), direction_of(["no_rag_loss"])
    ((None, ''), (None, ''), ('losses', 'loss'))
    """
    kinds = {_direction(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else None
    units = {frozenset(_end_words(name) & (_LOSS | _SCORE | _COST)) for name in names}
    words = units.pop() if kind is not None and len(units) == 1 else frozenset()
    return kind, next(iter(words)) if len(words) == 1 else ""


def stated_direction(names: Sequence[str]) -> tuple[Kind | None, str]:
    """Return direction and unit of columns of numbers, the direction only if no word leaves a doubt.

    That is loss, error, score, reward, accuracy or correct in every name.

    >>> stated_direction(["gpt_accuracy", "llama_accuracy"]), stated_direction(["gpt_time", "llama_time"])
    (('scores', 'accuracy'), (None, 'time'))
    """
    kind, unit = direction_of(names)
    is_certain = all(_end_words(name) & _CERTAIN for name in names)
    return (kind if is_certain else None), unit


def contrary_names(names: Sequence[str], kind: Kind | None) -> list[str]:
    """Return the names against `kind`, if all are or others state `kind`.

    >>> contrary_names(["gpt_loss", "claude_score"], "scores"), contrary_names(["real_time", "batch"], "scores")
    (['gpt_loss'], [])
    """
    stated = [_direction(name) for name in names]
    contrary = [
        name
        for name, stated_kind in zip(names, stated, strict=True)
        if stated_kind not in (None, kind)
    ]
    return contrary if kind is not None and (len(contrary) == len(names) or kind in stated) else []


def direction_of_file(stem: str) -> Kind | None:
    """Return the direction that the name of a file states; None if it states none.

    Its last word must be loss, score, reward or accuracy: other words, as in error_analysis, are
    often a subject.
    """
    last = (_words(stem) or [""])[-1]
    kind: Kind | None = (
        "losses" if last in LOSSES else "scores" if last in (*SCORES, "accuracy") else None
    )
    return kind if _direction(stem) == kind else None


def is_id_name(name: str) -> bool:
    """Return whether the name is usual for a column of ids, such as id or name."""
    return name.strip().lower() in (*IDS, *_WEAK_IDS, "") or has_id_word(name)


def has_id_word(name: str) -> bool:
    """Return whether a name starts or ends with id, or ends with a word for a number.

    >>> has_id_word("Customer ID"), has_id_word("Customer No"), has_id_word("name")
    (True, True, False)
    >>> has_id_word("Kundennr"), has_id_word("Rechnungsnummer"), has_id_word("wpsnr")
    (True, True, False)
    """
    words = _words(name)
    has_number_word = len(words) > 1 and words[-1] in _NUMBER_WORDS
    is_compound = bool(words) and _NUMBER_COMPOUND.fullmatch(words[-1]) is not None
    return "id" in _end_words(name) or has_number_word or is_compound


def is_group_name(name: str) -> bool:
    """Return whether the name is usual for a column of groups, such as category."""
    return name.strip().lower() in _GROUP


def is_run_name(name: str) -> bool:
    """Return whether the name is usual for a column that numbers the runs of a candidate on a row.

    >>> is_run_name("Epoch"), is_run_name("run_id"), is_run_name("runtime")
    (True, True, False)
    """
    return bool({*_words(name)} & _RUN) and {*_words(name)} <= _RUN | {"id", "no", "nr", "number"}


def is_summary_name(name: str) -> bool:
    """Return whether a name has only words for a summary of columns, and kind words.

    >>> is_summary_name("Max"), is_summary_name("mean score"), is_summary_name("qwen-max"), is_summary_name("score")
    (True, True, False, False)
    """
    words = {*_words(name)} - _LOSS - _SCORE - _COST
    return bool(words) and words <= _SUMMARY


def is_summary_label(label: str) -> bool:
    """Return whether the id of a row has only words for a sum or mean of others.

    >>> [is_summary_label(label) for label in ("Total", "Sub-total", "macro avg", "total recall", "x")]
    [True, True, True, False, False]
    """
    words = {*_words(label)}
    return bool(words & (SUMMARY_IDS | _PARTIAL_SUM)) and words <= (
        SUMMARY_IDS | _PARTIAL_SUM | _SUMMARY_ADJECTIVES
    )


def has_summary_word(label: str) -> bool:
    """Return whether the label of a row has a word for a sum of others, or for what is possible.

    >>> [has_summary_word(label) for label in ("Subtotal North", "max. points", "q12", "Summe Vorjahr")]
    [True, True, False, True]
    """
    return bool({*tokens(label)} & (SUMMARY_IDS | _PARTIAL_SUM | _ROW_WORDS))


def summary_functions(name: str) -> tuple[str, ...]:
    """Return the functions of other columns that a name states; ("mean",) for "mean score"."""
    words = {*_words(name)}
    return tuple(function for function, stated in _SUMMARIES.items() if words & stated)


def action_stem(name: str) -> str:
    """Return a name in lower case without its word for loss, score or cost.

    >>> action_stem("gpt-4_cost"), action_stem("loss: small model"), action_stem("loss")
    ('gpt 4', 'small model', '')
    """
    words = _words(name)
    for at in (0, -1):
        if words and words[at] in _LOSS | _SCORE | _COST:
            words.pop(at)
            break
    return " ".join(words)


def without_kind_word(name: str) -> str:
    """Remove a first or last word for loss or score from a name.

    >>> without_kind_word("GPT-4_loss"), without_kind_word("loss: small model")
    ('GPT-4', 'small model')
    """
    words = "|".join(sorted(_LOSS | _SCORE, key=len, reverse=True))
    cut = re.sub(
        rf"^(?:{words})[\s_:.\-/]+|[\s_:.\-/]+(?:{words})$", "", name.strip(), flags=re.IGNORECASE
    )
    return cut or name


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Return the name equal to the pattern, else all that match it as a wildcard."""
    names = list(names)
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]


def wildcard_match(pattern: str, name: str) -> str:
    """Return the part of a matching name that the star of the pattern stands for.

    >>> wildcard_match("cost_*", "cost_gpt"), wildcard_match("*_usd", "gpt_usd")
    ('gpt', 'gpt')
    """
    before, _, after = pattern.partition("*")
    return name[len(before) : len(name) - len(after)]


def _direction(name: str) -> Kind | None:
    ends = _end_words(name)
    words = _words(name)
    known = _LOSS | _SCORE | _COST
    if any(
        (before in _NEGATIONS and word in known) or (before in known and word in _REVERSALS)
        for before, word in pairwise(words)
    ):
        return None
    lower = bool(ends & (_LOSS | _COST))
    higher = bool(ends & _SCORE)
    # Words of the other direction count wherever they are: gpt_loss_score and time_win_gpt state
    # nothing.
    against = set(words) & (_SCORE if lower else _LOSS | _COST | _ADVERSE)
    if against and not ends & _LOSS_ALTHOUGH_SCORE:
        return None
    # As in 1-accuracy.
    if re.match(r"\s*1\s*[-−]", name):
        return None
    return "losses" if lower else "scores" if higher else None


def _end_words(name: str) -> set[str]:
    words = _words(name)
    return {words[0], words[-1]} if words else set()


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\s_:.\-/()\[\]=]+", name.strip().lower()) if word]
