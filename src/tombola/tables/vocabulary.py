"""Words that make the role of a column doubtful, and words that make it sure.

They only raise questions or spare them; no word gives a column a role. A question too many costs a
moment, a column read wrongly costs the answer, so the lists are long and need not be complete:
signs in the data and in the style of the names raise questions as well.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from tombola.tables.common_words import COMMON_WORDS

PERSON = "a person or a judge"
# What a name is usual for -> words, in lower case, singular, without accents.
_DOUBTFUL = {
    "a time": """
        time date day night week month year hour minute second sec msec millisecond timestamp ts datetime
        weekday weekend quarter season morning evening afternoon deadline timeout created updated started
        finished elapsed duration latency runtime walltime wall delay wait lag period when since ago age born
        birth expiry expire uptime ttft tps throughput speed velocity pace clock due dwell overhead idle startup
        dauer zeit datum tag woche monat jahr stunde uhrzeit alter temps duree jour mois annee heure semaine
        fecha dia mes ano hora duracion tiempo durata giorno anno ora tempo duracao dag maand jaar uur duur tijd
        czas dzien rok vrijeme
    """,
    "a cost": """
        cost price fee usd eur gbp jpy chf dollar euro cent pound budget spend spent spending expense charge
        bill payment pay paid salary income wage revenue profit margin worth discount tax credit tariff premium
        invoice refund balance debt loan turnover earning preis kosten gebuhr umsatz gewinn prix cout frais
        precio coste costo prezzo preco custo prijs omzet cena koszt kwh watt joule energy emission carbon gpu
        vram ram memory flop
    """,
    "a length or a count": """
        token word char character sentence line page byte kb mb gb len length size count nr num number cnt qty
        quantity volume amount turn step hop round retry retrie attempt view click visit like download edit
        parameter param paragraph area mass weight width height depth distance km mile meter metre kg lb gram cm
        mm inch feet ft capacity load occurrence occurence pixel resolution stride item menge anzahl grosse
        lange laenge groesse breite hohe hoehe gewicht longueur taille poids hauteur nombre longitud cantidad
        altura peso numero lunghezza altezza quantita comprimento quantidade lengte aantal hoogte breedte
        dlugosc liczba total wt wgt amt qlen plen ntok ntokens nwords nchars wc
    """,
    "a property of a row": """
        difficulty hardness complexity level tier grade priority importance frequency freq popularity rarity
        ambiguity novelty diversity specificity noise quality clarity readability sensitivity severity risk
        urgency impact effort domain topic subject category language lang locale country region city zip zipcode
        postcode source origin type kind class group cluster bucket bin segment cohort stratum section chapter
        part stage phase batch shard chunk version block session site station sensor device channel format
        intent skill subset tag field area theme genre split fold train training test testing dev valid
        validation holdout seed run trial replicate rep repetition repeat iteration epoch frame index idx key
        code hash offset line lat lon lng latitude longitude altitude elevation coordinate nesting branching
        cardinality sparsity density entropy schwierigkeit komplexitat niveau kategorie thema sprache klasse
        gruppe stufe difficulte categorie langue classe groupe dificultad categoria idioma grupo nivel
        difficolta lingua gruppo livello dificuldade moeilijkheid taal groep trudnosc relevance prevalence
        easiness toughness loudness brightness contrast sharpness spec
    """,
    "a judgement or a score of something else": """
        fluency coherence helpfulness harmlessness toxicity bias faithfulness factuality groundedness
        correctness completeness conciseness consistency politeness usefulness satisfaction csat nps preference
        preferred rating rated star vote upvote downvote agreement disagreement kappa consensus sentiment
        polarity subjectivity grammar grammaticality adequacy naturalness engagement empathy safety truthfulness
        honesty creativity originality verbosity style tone hallucination refusal similarity cosine overlap
        jaccard bleu rouge meteor bertscore chrf comet wer cer perplexity ppl f1 em accuracy acc precision
        recall auc auroc map mrr ndcg mse mae rmse mape r2 loss error err score scored reward regret penalty
        utility success failure fail failed pass passed correct incorrect wrong solved unsolved win won lose
        lost tie grade mark point iou dice psnr ssim fid kl divergence deviation residual gain
        brier ece calibration note bewertung punkt zufriedenheit qualitat ergebnis fehler noten voto nota
        puntuacion punteggio pontuacao cijfer ocena erreur qualite calidad qualita stress fatigue workload nasa
        tlx mood
    """,
    "a probability or a confidence": """
        prob proba probability propensity pscore confidence conf certainty uncertainty likelihood logprob
        logprobs logp logit odds chance prior posterior belief pvalue pval wahrscheinlichkeit probabilite
        probabilidad probabilita konfidenz confiance confianza fiducia density
    """,
    "a label or an expected answer": """
        label gold golden target truth gt ground answer ans expected reference ref ytrue ypred yhat true
        solution prediction predicted pred observed actual annotation annotated outcome result status decision
        verdict response reply output diagnosis event censored antwort losung loesung ziel wahrheit reponse
        verite respuesta etiqueta verdad risposta etichetta resposta antwoord odpowiedz etikett etiquette
    """,
    "a person or a judge": """
        human annotator user client visitor buyer rater judge reviewer expert crowd worker turker grader assessor
        referee editor moderator
        evaluator examiner labeler labeller gender sex male female ethnicity education married marital child
        children bmi religion nationality household smoker occupation patient respondent participant mensch
        experte gutachter humain experto umano esperto humano geschlecht geslacht
    """,
    "a flag": """
        is has was are were can could should needs need require requires required contain contains include
        includes uses used did does flag flagged mask masked invalid missing excluded included dropped filtered
        reviewed verified duplicate duplicated dup outlier anomaly contaminated contamination leaked leak
        leakage seen unseen solvable unsolvable answerable unanswerable ambiguous multihop adversarial public
        private active enabled disabled eligible complete completed resolved closed approved accepted rejected
        clicked converted purchased churned churn subscribed vip member weekday holiday available present absent
        known unknown easy hard difficult trivial tricky deprecated archived truncated sampled selected locked
        urgent critical spam toxic sensitive nsfw escalated handoff bilingual multilingual multimodal native
        synthetic augmented translated noisy clean dirty ist hat enthalt
    """,
    "a summary of others": """
        mean avg average median mode max maximum min minimum sum subtotal std sd var variance stdev stderr se
        sem ci lo hi lower upper bound best worst top bottom rank ranking place position pos order percentile
        quantile quartile decile p50 p90 p95 p99 range spread iqr delta diff difference gap change lift
        improvement ratio share fraction pct percent percentage proportion rate quota ensemble oracle majority
        any all none both either union intersection combined pooled overall aggregate aggregated vbs sbs winner
        loser cum cumulative running rolling previous prev next zscore z normalized normalised standardized
        summary blend blended stacked mittelwert durchschnitt mittel summe gesamt rang platz anteil moyenne
        somme totale rango promedio media suma somma soma gemiddelde som argmax argmin envelope ceiling floor
    """,
    "a setting": """
        threshold cutoff temperature temp top_p top_k lr dropout hyperparameter limit cap quota maxtoken
        batch_size depth decay warmup patience beam_size schwelle grenze seuil umbral
        soglia limiar drempel
    """,
    "a measurement": """
        humidity pressure rain rainfall precipitation sunshine lux voltage power ph co2 pm25 ozone bpm
        pulse cholesterol oxygen spo2 blood heartrate temperatur luftfeuchte druck humedad presion umidita
        signal rssi snr db decibel hz frequency torque rpm fuel mileage acceleration vibration salinity
        turbidity moisture celsius fahrenheit degree angle
    """,
    "an id or an index": """
        id ids uuid guid idx index row rowid nr no sku isbn doi serial hash md5 checksum
    """,
    "a feature": """
        feature feat embedding emb pc pca tsne umap dim vector covariate predictor
    """,
}  # fmt: skip

# Words that candidates are called, also among those above, beside words of their own.
_CANDIDATE_WORDS = """
    model bot agent assistant prompt baseline variant variation system method solver algorithm algo approach
    candidate arm policy strategy router planner heuristic classifier regressor learner forest tree boosting
    boost regression net network transformer encoder decoder lstm gru rnn cnn mlp svm knn gbm lgbm xgb xgboost
    lightgbm catboost lasso ridge bayes nb logreg ols glm gam arima sarima ets prophet theta holt winter naive
    drift bert roberta deberta albert electra t5 bart pegasus gpt chatgpt claude gemini gemma llama mistral
    mixtral qwen deepseek phi falcon vicuna alpaca palm bard grok kimi chatglm baichuan yi internlm olmo pythia
    dolly koala wizardlm orca zephyr solar command cohere jamba nova titan jurassic davinci curie babbage ada
    sonnet opus haiku turbo flash lite mini nano ultra instruct chat coder codellama starcoder hermes openchat
    guanaco baize minotaur oasst mpt bloom opt stablelm dbrx nemotron granite whisper wav2vec conformer resnet
    vit convnext efficientnet mobilenet densenet inception vgg alexnet swin yolo detr rcnn unet sam clip dino
    bm25 tfidf dense sparse hybrid colbert splade dpr ance contriever hyde rag retriever reranker cot react
    reflexion zeroshot fewshot sft dpo ppo rlhf lora qlora distilled quantized finetuned pretrained greedy beam
    nucleus sampling search random control treatment placebo ours theirs proposed old new current legacy
    champion challenger student teacher small medium large base tiny xl xxl big huge left right google microsoft
    amazon ibm baidu openai anthropic meta azure aws deepgram assemblyai github kissat minisat glucose lingeling
    cadical clasp gecode ortools chuffed cplex gurobi scip cbc highs z3 cvc4 cvc5 yices vampire eprover spear
    sat smt tool pipeline aider openhands sweagent devin cursor copilot cline workflow chain team plan option
    version config setup engine player vendor supplier provider
    newest latest newer older
    dqn ppo sac a2c a3c td3 ddpg rainbow trpo impala cody tabnine postgres mysql sqlite duckdb pandas polars spark dask
    deepl tesseract easyocr paddleocr fasttext word2vec glove doc2vec roberta ernie xlnet bloomz flan gopher chinchilla
    elo glicko trueskill poisson tcn codex default ai middle mid
    kaldi espnet nemo tulu tbats snaive ses gbm logit scorecard kalman ukf ekf lama fd lmcut tabu dsatur choco
    gzip zstd lz4 brotli bzip2 snappy chrome firefox safari dhl ups fedex gls dpd usps klm lufthansa
    dijkstra astar bellman aspirin ibuprofen paracetamol naproxen metformin insulin persistence wrf icon gfs ecmwf
    spt edd fifo lifo lru lfu stockfish leela alphazero jpeg webp avif mp3 aac opus vorbis flac
"""
_CANDIDATE = frozenset(_CANDIDATE_WORDS.split())
# Those among them that say how a candidate is, or what kind it is, and not which one.
_ADJECTIVES = frozenset(
    """
    old new current legacy small medium large base tiny big huge left right random lite mini nano ultra flash turbo
    instruct chat coder code control treatment baseline proposed ours theirs regression classifier search sampling
    dense sparse hybrid greedy version option config setup plan team player engine tool pipeline workflow student
    teacher assistant prompt encoder decoder tree forest net network drift naive distilled pretrained finetuned
    """.split()  # noqa: SIM905 - a list to read
)
# Names of candidates beside others that are single letters.
_BESIDE_LETTERS = frozenset(
    {
        "baseline",
        "control",
        "placebo",
        "ours",
        "current",
        "old",
        "new",
        "standard",
        "default",
        "random",
    }
)
# Whole names of methods that have doubtful words in them.
_METHODS = re.compile(
    r"(self[-_ ]?consistency|best[-_ ]?of[-_ ]?(\d+|n)|chain[-_ ]?of[-_ ]?thoughts?|tree[-_ ]?of[-_ ]?thoughts?|"
    r"(zero|one|few|many|\d+)[-_ ]?shots?|max(imum)?[-_ ]?entropy|step[-_ ]?by[-_ ]?step|no[-_ ]?rag|"
    r"top[-_ ]?k[-_ ]?sampling|top[-_ ]?p[-_ ]?sampling|least[-_ ]?to[-_ ]?most|sentence[-_ ]?bert|word2vec|"
    r"nearest[-_ ]?neighbou?rs?|majority[-_ ]?class|last[-_ ]?value|moving[-_ ]?average|seasonal[-_ ]?naive|trueskill|"
    r"^nested[-_ ]?loop$|"
    r"^logit$)"
)
# Sizes of models, such as 7b and 8x22B.
_MODEL_SIZE = re.compile(r"\d+(\.\d+)?[bmk]|\d+x\d+b")
# Endings of words for properties, also in other languages; weaker than a word of the lists.
_PROPERTY_ENDING = re.compile(
    r".{3,}(ness|ity|[^aeiou]ty|itude|oso|osa|ency|ancy|ence|ance|able|ible|keit|heit|"
    r"itat|itaet|idad|idade|iteit|heid|score|count|length|size|flag|index|level)"
)
# Beginnings of words, in several languages.
_STEMS = {
    "a property of a row": """
        difficul dificul diffizil schwierig moeilijk complex komplex complej compless ambigu popular populair
        frequen frecuen haufig priori categor kategor sever import urgen dringend relevan nivea schweregrad
        wichtig relief visib beliebt
    """,
    "a judgement or a score of something else": """
        satisf zufrieden fluen flussig kohar coheren relevanz hilfreich toxi qualit calida evalua bewert
        beurteil valorac puntua qualif tevreden sentiment
    """,
    "a probability or a confidence": """
        probab wahrscheinlich konfiden confian confiden kans certain sicherheit
    """,
    "a length or a count": """
        anzahl numer quanti cantid lunghe longue longit lengte menge
    """,
    "a measurement": """
        temperat humid feucht luftfeucht niederschlag druck windge regen lluvi pioggi pluie neerslag spannung
    """,
    "a time": """
        dauer durat duraci durac laufzeit antwortzeit wartezeit wochen monat stund minut sekund segund second
        wochentag wochenend datum fecha
    """,
    "a cost": """
        kosten preis precio prezz costo umsatz budget gebuhr
    """,
    "a label or an expected answer": """
        antwort loesung losung respuest rispost respost etiket etiquet wahrheit referen
    """,
    "a flag": """
        contamin kontamin verif duplic dupli doppel gultig gueltig valid vorhanden eskal escalat flag markier
    """,
    "a summary of others": """
        durchschnitt mittelwert gesamt insgesamt promedi moyenn gemiddeld mehrheit mayori majorit maggioran
        bester beste schlechtest vornote
    """,
    "a person or a judge": """
        mensch mannlich maennlich weiblich geschlecht annotat gutacht gender patient
    """,
}
# First parts of words written together, such as promptlen.
_PREFIX = (
    "prompt|question|answer|input|output|word|char|token|doc|text|image|page|run|wall|cpu|user|file|row|max|min|avg|"
    "mean|num|total|line|sent|para|train|test|n|is|has|query|context|item|label|gold|true|pred|time|exec|load|wait|"
    "lead|start|end|body|head|blood|heart|air|water|step|turn|hop|token"
)
_TOGETHER = re.compile(rf"(?:{_PREFIX})(?P<rest>[a-z]{{2,}})")
# Words in front of the word that says what a name is: length of prompt, tokens per call.
_OF = frozenset(
    {"of", "in", "per", "by", "from", "for", "to", "at", "until", "vs", "de", "von", "du", "di"}
)
# Letters of scripts that do not separate words.
_WIDE_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Letters of an abbreviation.
_MAX_ABBREVIATION = 3
# Letters from which a word is compared with the beginnings above.
_MIN_STEM = 5
# Words of a name up to which each of them counts.
_MAX_NAME_WORDS = 3
# What a name with the name of a candidate may be usual for, as in gpt_tokens.
_QUANTITIES = frozenset(
    {
        "a time",
        "a cost",
        "a length or a count",
        "a judgement or a score of something else",
        "a probability or a confidence",
        "a summary of others",
        "a label or an expected answer",
        "a measurement",
    }
)
# Letters of other scripts -> what they are usual for.
_CJK = {
    "a property of a row": "难度 難度 难易 类别 난이도 сложность",
    "a length or a count": "長さ 长度 字数 文字数 길이 длина вес",
    "a cost": "价格 価格 成本 费用 가격 цена",
    "a time": "时间 時間 日期 年龄 年齢 분 время возраст",
    "a label or an expected answer": "答案 正解 标签 정답 ответ",
    "a summary of others": "平均 合计 合計 среднее",
    "a measurement": "温度",
    "a judgement or a score of something else": "评分",
}


@cache
def _meanings() -> dict[str, str]:
    """Return what each doubtful word is usual for; the first list counts."""
    meanings: dict[str, str] = {}
    for meaning, words in _DOUBTFUL.items():
        for word in words.split():
            meanings.setdefault(word, meaning)
    return meanings


def tokens(name: str) -> list[str]:
    """Return the words of a name, in lower case and without accents; camelCase is split.

    >>> tokens("promptLength"), tokens("n_tokens"), tokens("Länge (cm)"), tokens("gpt-4o")
    (['prompt', 'length'], ['n', 'tokens'], ['lange', 'cm'], ['gpt', '4o'])
    """
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    plain = split
    if not split.isascii():
        letters = unicodedata.normalize("NFKD", split)
        plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return [word for word in re.split(r"[\W_]+", plain.lower().replace("ß", "ss")) if word]


def meaning_of(word: str) -> str:
    """Return what a word is usual for, also in the plural or with a number behind; "" if nothing.

    >>> meaning_of("tokens"), meaning_of("difficulties"), meaning_of("run2"), meaning_of("gpt")
    ('a length or a count', 'a property of a row', 'a property of a row', '')
    """
    meanings = _meanings()
    stem = word.rstrip("0123456789")
    forms = [word, stem]
    for form in (word, stem):
        if form.endswith("ies"):
            forms.append(f"{form[:-3]}y")
        if form.endswith("es"):
            forms.append(form[:-2])
        if form.endswith("s") and len(form) > 3:
            forms.append(form[:-1])
    for form in forms:
        if len(form) > 1 or form == word:
            meaning = meanings.get(form)
            if meaning:
                return meaning
    if len(stem) >= _MIN_STEM and word not in _CANDIDATE:
        for meaning, beginnings in _STEMS.items():
            if stem.startswith(tuple(beginnings.split())):
                return meaning
    match = _TOGETHER.fullmatch(stem)
    if match and word not in _CANDIDATE and stem not in _CANDIDATE:
        rest = match["rest"]
        return meanings.get(rest) or meanings.get(rest.removesuffix("s")) or ""
    return ""


def doubt(name: str) -> str:
    """Return what a name is usual for beside a candidate; "" for nothing.

    A word counts wherever it is, unless the name is that of a method, or ends with a word for a
    candidate, as in cost-aware router.

    >>> doubt("n_tokens"), doubt("gpt_cost"), doubt("gpt-4"), doubt("token-router"), doubt("tokens per call")
    ('a length or a count', 'a cost', '', '', 'a length or a count')
    """
    for meaning, parts in _CJK.items():
        if any(part in name.lower() for part in parts.split()):
            return meaning
    words = tokens(name)
    # Without something, as in no_presolve, is a variant; no is a number elsewhere.
    if len(words) > 1 and words[0] in ("no", "without"):
        words = words[1:]
    if not words or _METHODS.search(name.lower()):
        return ""
    joined = _meanings().get("_".join(words), "") or _meanings().get("".join(words), "")
    if joined and len(words) > 1:
        return joined
    head = words[:]
    for at, word in enumerate(words[1:], 1):
        if word in _OF:
            head = words[:at]
            break
    is_candidate = any(is_candidate_word(word) and word not in _ADJECTIVES for word in words)
    if len(words) > 1 and is_candidate_word(head[-1]) and not _is_flag_start(words):
        return ""
    letters = [word for word in head if not word.isdigit()]
    # The last word says what the name is, others how; of a long name only the ends count.
    if len(letters) > _MAX_NAME_WORDS:
        letters = [letters[0], letters[-1]] if not is_candidate else letters[-1:]
    for word in [*reversed(letters), *(word for word in words[len(head) :] if word not in _OF)]:
        meaning = meaning_of(word)
        if not meaning or (len(words) > 1 and is_candidate_word(word)):
            continue
        # A model may be for hard or human texts; a quantity of a model is no candidate.
        if not is_candidate or len(words) == 1 or meaning in _QUANTITIES or _is_flag_start(words):
            return meaning
    return ""


def _is_flag_start(words: list[str]) -> bool:
    return len(words) > 1 and words[0] in (
        "is",
        "has",
        "was",
        "uses",
        "n",
        "num",
        "no",
        "avg",
        "mean",
    )


def has_property_ending(name: str) -> bool:
    """Return whether the last word of a name ends like a word for a property, such as toughness."""
    words = [word for word in tokens(name) if not word.isdigit()]
    return (
        bool(words)
        and not is_known_candidate(name)
        and _PROPERTY_ENDING.fullmatch(words[-1]) is not None
    )


def is_name_like(name: str) -> bool:
    """Return whether a name is written like a name and not like a word.

    >>> [is_name_like(name) for name in ("gpt", "CuI", "v2", "td3", "compost", "purity")]
    [True, True, True, True, False, False]
    """
    text = name.strip()
    return (
        is_known_candidate(name)
        or len(text) <= _MAX_ABBREVIATION
        or re.search(r"[\d\-]", text) is not None
        or any(letter.isupper() for letter in text[1:])
    )


def is_code(name: str) -> bool:
    """Return whether a name is a short code and no word, such as g12fd and CuI, unlike diabetic2.

    >>> [is_code(name) for name in ("g12fd", "CuI", "diabetic2", "bt")]
    [True, True, False, False]
    """
    text = name.strip()
    has_capital = any(letter.isupper() for letter in text[1:]) and not text.istitle()
    return re.search(r"\d\W*[^\W\d_]", text) is not None or has_capital


def is_letter(name: str) -> bool:
    """Return whether a name is a letter, perhaps with a number."""
    return re.fullmatch(r"[^\W\d_][\W_]?\d*", name.strip()) is not None


def stands_beside_letters(name: str) -> bool:
    """Return whether a name is usual beside candidates called A and B, such as baseline."""
    return bool({*tokens(name)} & _BESIDE_LETTERS)


def is_common(name: str) -> bool:
    """Return whether the words of a name are common ones, none of them a word for a candidate.

    >>> is_common("purity"), is_common("callback_requested"), is_common("gpt-4"), is_common("zorp")
    (True, True, False, False)
    """
    words = [word for word in tokens(name) if not word.isdigit()]
    if not words or is_known_candidate(name):
        return False
    return words[-1] in _common() or words[-1].removesuffix("s") in _common()


@cache
def _common() -> frozenset[str]:
    return frozenset(COMMON_WORDS.split())


def is_candidate_word(word: str) -> bool:
    """Return whether a word is one that candidates are called, also with a number behind."""
    stem = word.rstrip("0123456789")
    return word in _CANDIDATE or stem in _CANDIDATE or _MODEL_SIZE.fullmatch(word) is not None


def is_known_candidate(name: str) -> bool:
    """Return whether a name has a word that candidates are called, or is a letter or a number.

    >>> [is_known_candidate(name) for name in ("gpt-4o", "A", "v2", "Llama 3 70B", "hardness", "zorp")]
    [True, True, True, True, False, False]
    >>> is_known_candidate("nested_loop")
    True
    """
    words = tokens(name)
    if not words:
        return False
    if _METHODS.search(name.lower()):
        return True
    # GitHub is one word.
    parts = [*words, *re.split(r"[\W_]+", name.lower())]
    return any(map(is_candidate_word, parts)) or bool(re.fullmatch(r"[a-z]?\d*", "".join(words)))


def candidate_names(names: Sequence[str]) -> bool:
    """Return whether all names are one word and a number or letter, such as v1, v2 and v3.

    >>> candidate_names(["v1", "v2"]), candidate_names(["temperature_0", "temperature_0.7"])
    (True, True)
    >>> candidate_names(["a", "b", "id"])
    False
    """
    stems = {re.sub(r"[\W\d_]+", "", name.lower()) for name in names}
    return len(names) > 1 and len(stems) == 1


def name_style(name: str) -> frozenset[str]:
    """Return what is noticeable about how a name is written.

    >>> sorted(name_style("gpt-4o")), sorted(name_style("v1"))
    (['a digit', 'a hyphen', "the beginning 'gpt'", "the end '4o'"], ['a digit', "the beginning 'v'"])
    """
    words = tokens(name)
    style = set()
    if re.search(r"\d", name):
        style.add("a digit")
    if "-" in name:
        style.add("a hyphen")
    if "_" in name:
        style.add("an underscore")
    if " " in name.strip():
        style.add("a space")
    if name[:1].isupper():
        style.add("a capital letter")
    if len(words) > 1 or re.search(r"\d", name):
        beginning = re.match(r"[^\W\d_]*", words[0] if words else "")
        if beginning and beginning[0]:
            style.add(f"the beginning {beginning[0]!r}")
    if len(words) > 1 and not words[-1].isdigit():
        style.add(f"the end {words[-1]!r}")
    # Names in scripts without spaces have no words: all but a letter in common is
    # noticeable.
    if len(words) == 1 and not name.isascii() and _WIDE_SCRIPT.search(name):
        style |= {f"the beginning {name.strip()[:-1]!r}", f"the end {name.strip()[1:]!r}"}
    return frozenset(style)
