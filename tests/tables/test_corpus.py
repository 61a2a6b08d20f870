"""Ugly files: what must be understood, or said, of each; nothing is misread in silence."""

import gzip
import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.main import get_command

from tombola._formatting import cli_style
from tombola.cli.app import app
from tombola.errors import QuestionError
from tombola.tables import read_table
from tombola.tables.columns import Columns
from tombola.tables.formats.delimited import read_text
from tombola.tables.options import ReadOptions
from tombola.tables.summary import summarise_table
from tombola.tables.wide import read_wide

AB = [[0.0, 1.0], [0.5, 0.25]]


class Ugly(NamedTuple):
    """A file, what is said about it, and what must come of it: numbers and notes, or a sentence."""

    content: Any
    says: str = ""  # part of the sentence with which it is refused
    losses: Any = None
    actions: Iterable[str] = "ab"
    ids: Any = None
    costs: Any = None
    delays: Any = None
    notes: tuple[str, ...] = ()
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed
    name: str = "t.csv"
    inner: str = ""  # after FILE::


def excel(sheets: dict[str, list[list[Any]]]) -> bytes:
    book = import_module("openpyxl").Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def sqlite(path: Path, tables: dict[str, str]) -> None:
    with sqlite3.connect(path) as base:
        for name, rows in tables.items():
            base.execute(f'CREATE TABLE "{name}" (id TEXT, a REAL, b REAL)')
            base.executemany(f'INSERT INTO "{name}" VALUES (?, ?, ?)', json.loads(rows))
    base.close()


def parquet(path: Path, **columns: Any) -> None:
    import_module("pyarrow.parquet").write_table(import_module("pyarrow").table(columns), path)


def lines(*records: Any) -> str:
    return "\n".join(json.dumps(record) for record in records)


XY = ("x", "y")
SCORES = {"kind": "scores"}
MIXED = "id,p_a,p_b,p_c\nx,5,6,\ny,7,4,67%\nz,6,5,70%\n"
SHARES = "id,a,b\nx,67%,20%\ny,70%,30%\n"
LOGGED = "got a logged table, with one action a row"
UGLY: dict[str, Ugly] = {
    # ids with an unusual name
    "a number for each question": Ugly("question,a,b\n1,0,1\n2,.5,.25\n3,1,1\n", losses=[*AB, [1, 1]], ids=("1", "2", "3"), notes=("ids from column 'question'",)),
    "an unnamed counter": Ugly("n,a,b\n0,0,1\n1,.5,.25\n2,1,1\n", losses=[*AB, [1, 1]], ids=("0", "1", "2"), notes=("ids from column 'n'",)),
    "large numbers among shares": Ugly("customer no,a,b\n90071,0,1\n35512,.5,.25\n1,1,1\n", losses=[*AB, [1, 1]], ids=("90071", "35512", "1")),
    "ids of 64 bits": Ugly("user_id,a,b\n9007199254740993,0,1\n9007199254740992,.5,.25\n", losses=AB, ids=("9007199254740993", "9007199254740992")),
    "zeros in front of ids": Ugly("id,a,b\n007,0,1\n07,.5,.25\n", losses=AB, ids=("007", "07")),
    "ids that look like missing cells": Ugly("id,a,b\nNA,0,1\nnone,.5,.25\n", losses=AB, ids=("NA", "none")),
    "the index of pandas": Ugly("Unnamed: 0,a,b\n0,0,1\n1,.5,.25\n", losses=AB, ids=("0", "1")),
    "ids in the last column": Ugly("a,b,prompt\n0,1,x\n.5,.25,y\n", losses=AB, ids=XY),
    "an id and a second one": Ugly("id,user_id,a,b\nx,7,0,1\ny,7,.5,.25\n", losses=AB, ids=XY, notes=("user_id (named like an id)",)),
    "a category first": Ugly("topic,a,b\nlaw,0,1\nlaw,.5,.25\n", losses=AB, notes=("topic (values repeat, so no ids)", "--candidates")),
    "ids twice": Ugly("id,a,b\nx,0,1\nx,.5,.25\n", "ids must be different, got 'x' twice"),
    "ids named": Ugly("who,when,a,b\nx,1,0,1\ny,1,.5,.25\n", losses=AB, ids=XY, options={"ids": "who", "ignore": ["when"]}),
    "an id that is not there": Ugly("a,b\n0,1\n", "called 'who' as --id states", options={"ids": "who"}),
    # rows and columns that sum up the others: left out if name and values say so, else asked about
    "a row of sums": Ugly("id,a,b\nx,0,1\ny,.5,.25\nTotal,.5,1.25\n", losses=AB, ids=XY, notes=("left out line 4, called 'Total': the sum of the rows above",)),
    "a row of rounded means": Ugly("question,a,b\n1,0,1\n2,.5,.25\n3,0,1\nAverage,.17,.75\n", losses=[*AB, [0, 1]], ids=("1", "2", "3"), notes=("called 'Average': the mean of the rows above",)),
    "a row of sums without an id": Ugly("id,a,b,remark,cost:a,cost:b\nx,0,1,,1,2\ny,.5,.25,ok,3,4\nz,0,1,,0,0\n,.5,2.25,,4,6\n", losses=[*AB, [0, 1]], ids=("x", "y", "z"), costs=[[1, 2], [3, 4], [0, 0]], notes=("left out line 5, without an id: the sum of the rows above",)),
    "a row called mean with other numbers": Ugly("model,a,b\nx,0,1\nmean,.5,.25\n", "one called 'mean' in line 3"),
    "a row called total, one sum wrong": Ugly("id,a,b\nx,0,1\ny,.5,.25\ntotal,.5,1\n", "one called 'total' in line 4"),
    "a row of sums in German": Ugly("Nr;a;b\nx;0;1\ny;0,5;0,25\nSumme;0,5;1,25\n", losses=AB, ids=XY, notes=("left out line 4, called 'Summe': the sum of the rows above",)),
    "a row of means in Portuguese": Ugly("id,a,b\nx,0,1\ny,.5,.25\nMÉDIA,.25,.625\n", losses=AB, ids=XY, notes=("called 'MÉDIA': the mean of the rows above",)),
    "a row of sums by a sign": Ugly("id,a,b\nx,0,1\ny,.5,.25\nΣ,.5,1.25\n", losses=AB, ids=XY, notes=("called 'Σ': the sum of the rows above",)),
    "a row called Gesamt, one sum wrong": Ugly("id,a,b\nx,0,1\ny,.5,.25\nGesamt,.5,1\n", "one called 'Gesamt' in line 4"),
    "a column of means in German": Ugly("a;b;Mittelwert\n0;1;0,5\n0,5;0,25;0,375\n0;1;0,5\n", losses=[*AB, [0, 1]], notes=("ignored: Mittelwert (the mean of the others in every row)",)),
    "a row without an id, no sums": Ugly("id,a,b\nx,0,1\ny,.5,.25\nz,0,1\n,.5,1\n", losses=[*AB, [0, 1], [0.5, 1]], ids=("x", "y", "z", "")),
    "the largest of each row": Ugly("a,b,Max\n0,1,1\n.5,.25,.5\n.5,.75,.75\n", losses=[*AB, [0.5, 0.75]], notes=("ignored: Max (the largest of the others in every row)",)),
    "rounded means and totals": Ugly("a score,b score,c score,mean score,total "
                                     "score\n1,0,0,.3,1\n.5,.75,1,.8,2.25\n1,1,1,1,3\n", losses=[[0, 1, 1], [0.5, 0.25, 0], [0, 0, 0]], actions="abc", options={"kind": "scores"}, notes=("mean score (the mean of the others", "total score (the sum of the others")),
    "the place of the best": Ugly("a,b,best\n0,1,2\n.5,.25,1\n1,0,1\n", losses=[*AB, [1, 0]], notes=("best (the place of the largest of the others",)),
    "a summary with one blank": Ugly("a,b,average\n0,1,.5\n.5,.25,\n0,1,.5\n1,0,.5\n", losses=[*AB, [0, 1], [1, 0]], notes=("average (the mean of the others",)),
    "a name of a summary, other numbers": Ugly("a,b,Max\n0,1,0\n.5,.25,.5\n0,1,1\n", losses=[[0, 1, 0], [0.5, 0.25, 0.5], [0, 1, 1]], actions=("a", "b", "Max"), notes=("'Max' counts as an action although its name is that of a summary; write --ignore Max if it is none",)),
    "numbers of a summary, another name": Ugly("a,b,c\n" + "0,1,1\n.5,.25,.5\n" * 10, losses=[[0, 1, 1], [0.5, 0.25, 0.5]] * 10, actions="abc", notes=("'c' counts as an action although it is the largest of the others in every row; write --ignore c if it is none",)),
    "a name of a summary on another scale": Ugly("a,b,rank\n0,1,7\n.5,.25,9\n", losses=AB, notes=("ignored: rank (7 to 9; the others are in [0, 1])",)),
    "a summary that was chosen": Ugly("a,b,Max\n0,1,1\n.5,.25,.5\n0,1,1\n", losses=[[0, 1, 1], [0.5, 0.25, 0.5], [0, 1, 1]], actions=("a", "b", "Max"), options={"actions": ["a", "b", "Max"]}),
    # columns that are no actions
    "a remark": Ugly("a,b,remark\n0,1,fine\n.5,.25,\n", losses=AB, notes=("ignored: remark (text)", "--candidates")),
    "dates": Ugly("a,when,b\n0,2024-02-01,1\n.5,2024-02-03,.25\n", losses=AB, notes=("when (dates)",)),
    "a day called date": Ugly("a,date,b\n0,20240201,1\n.5,20240203,.25\n", losses=AB, notes=("date (named like a date)",)),
    "a split": Ugly("a,b,fold\n0,1,0\n.5,.25,1\n", losses=AB, notes=("fold (named like a label)",)),
    "all columns as features": Ugly("a,b\n0,1\n", "expected columns of actions, got only features", options={"features": ["*"]}),
    "a feature that is not there": Ugly("a,b,size\n0,1,3\n", "called 'none' as --features states", options={"features": ["none"]}),
    "a feature that is an action": Ugly("a,b,size\n0,1,3\n", "got 'size', which --candidates names "
                                                             "too", options={"features": ["size"], "actions": ["a", "s*"]}),
    "a feature that is the id": Ugly("id,a,b\nx,0,1\n", "got 'id', which --id names too", options={"features": ["id"], "ids": "id"}),
    "free text as a feature": Ugly("id,a,b\nx,0,1\ny,1,1\nz,1,1\n", "3 different words in 3 "
                                                                    "rows; write --text id for "
                                                                    "free text", options={"features": ["id"]}),
    "another feature in the same row": Ugly("id,solver,loss,size\nx,a,0,3\nx,b,1,3\ny,a,1,8\ny,b,0,9\n", "the same in all lines of a row, got '9' after '8' in line 5", options={"features": ["size"]}),
    "another group in the same row": Ugly("id,topic,model,loss\nx,law,a,0\nx,tax,b,1\ny,law,a,0\n", "'topic' to be the same in all lines of a row", options={"by": "topic"}),
    "a group that is not there": Ugly("a,b\n0,1\n", "expected a column called 'topic' as --by "
                                                    "states", options={"by": "topic"}),
    "features": Ugly("x1,x2,a,b\n.1,.2,0,1\n.3,.4,.5,.25\n", losses=AB, notes=("x1 (named like a feature)",)),
    "an embedding": Ugly("embedding_0,embedding_1,a,b\n.1,.2,0,1\n.3,.4,.5,.25\n", losses=AB, notes=("embedding_0 (named like a feature)",)),
    "nothing but features": Ugly("x1,x2\n0,1\n.5,.25\n", losses=AB, actions=("x1", "x2")),
    "features called f_": Ugly("id,a,b,f_0,F_size\nx,0,1,.1,3\ny,.5,.25,.3,4\n", losses=AB, ids=XY, notes=("f_0 (named like a feature), F_size (named like a feature)", "those of features with --features")),
    "features called f_ beside scores": Ugly("f_0,f_1,a_score,b_score\n.1,.2,1,0\n.3,.4,.5,.75\n", losses=AB, options={"kind": None}, notes=("f_0 (named like a feature)",)),
    "features called f_ beside run times": Ugly("f_0,f_1,a_seconds,b_seconds\n.1,.2,0,1\n.3,.4,.5,.25\n", losses=AB, actions=("a_seconds", "b_seconds"), notes=("f_0 (named like a feature)",)),
    "nothing but f_": Ugly("id,f_0,f_1\nx,0,1\ny,.5,.25\n", losses=AB, actions=("f_0", "f_1"), ids=XY),
    "f_ and one other": Ugly("f_0,a\n0,1\n.5,.25\n", losses=AB, actions=("f_0", "a")),
    "f_ and their costs": Ugly("f_0,f_1,cost_f_0,cost_f_1\n0,1,1,2\n.5,.25,3,4\n", losses=AB, actions=("f_0", "f_1"), costs=[[1, 2], [3, 4]]),
    "f_ as a name beside scores": Ugly("f_score,g_score\n1,0\n.5,.75\n", losses=AB, actions="fg", options=SCORES),
    "f_ as actions": Ugly("a,b,f_0,f_1\n9,9,0,1\n9,9,.5,.25\n", losses=AB, actions=("f_0", "f_1"), options={"actions": ["f_*"]}),
    "a single cost": Ugly("a,b,price\n0,1,5\n.5,.25,6\n", losses=AB, notes=("price (named like a cost)",)),
    "tokens": Ugly("a,b,prompt tokens\n0,1,812\n.5,.25,64\n", losses=AB, notes=("prompt tokens (named like a cost)",)),
    "a number of another kind": Ugly("a,b,words\n0,1,812\n.5,.25,64\n", losses=AB, notes=("words (64 to 812; the others are in [0, 1])",)),
    "the same, rescaled": Ugly("a,b,words\n0,1,100\n.5,.25,0\n", losses=[[0, 0.01, 1], [0.005, 0.0025, 0]], actions=("a", "b", "words"), options={"rescale": True, "actions": ["a", "b", "words"]}),
    "a percent column": Ugly("a,b,share\n0,1,80%\n.5,.25,90%\n", losses=AB, notes=("share (percent, unlike the other columns)",)),
    "tokens beside scores of 0 to 10": Ugly("a,b,c,words\n10,0,10,812\n5,7.5,10,640\n", losses=[[0, 1, 0], [0.5, 0.25, 0]], actions=("a", "b", "c"), options={"kind": "scores", "range": (0, 10)}, notes=("words (640 to 812; the others are 0 to 10)",)),
    "the same, left out": Ugly("a,b,words\n0,1,812\n.5,.25,64\n", losses=AB, notes=("ignored: words (as requested)",), options={"ignore": ["w*"]}),
    "an empty column": Ugly("a,b,,\n0,1,,\n.5,.25,,\n", "got '' twice"),
    "one empty column at the end": Ugly("a,b,\n0,1,\n.5,.25,\n", losses=AB, notes=("a column without a name (empty)",)),
    "an action that is not there": Ugly("a,b\n0,1\n", "called 'c' as --candidates states", options={"actions": ["a", "c"]}),
    "actions by a pattern": Ugly("m a,m b,z\n0,1,9\n.5,.25,9\n", losses=AB, actions=("m a", "m b"), notes=("z (not selected)",), options={"actions": ["m *"]}),
    "a name with a comma": Ugly('"a, old",b\n0,1\n.5,.25\n', losses=AB, actions=("a, old", "b")),
    "names in hieroglyphs": Ugly("\U00013000,$x_1$\n0,1\n.5,.25\n", losses=AB, actions=("\U00013000", "$x_1$")),
    "a stratum": Ugly("id,stratum,a,b\nx,1,0,1\ny,0,.5,.25\n", losses=AB, ids=XY),
    "a column of actions, ignored": Ugly("id,action,a,b\nx,call,0,1\ny,skip,.5,.25\n", losses=AB, ids=XY, options={"ignore": ["action"]}),
    "a value column of a wide table": Ugly("id,a,b\nx,0,1\ny,1,1\n", "expected a long table as "
                                                                     "--value-column states", options={"value": "a"}),
    # losses, rewards, costs
    "accuracy": Ugly("a accuracy,b accuracy\n1,0\n.5,.75\n", losses=AB, options={"kind": None}, notes=("read as scores (accuracy): higher is better",)),
    "scores": Ugly("score_a,score_b\n1,0\n.5,.75\n", losses=AB, options={"kind": None}, notes=("the action of column 'score_a' is called 'a'",)),
    "direction unknown": Ugly("a,b\n1,0\n.5,.75\n", "--scores if higher is better, --losses if "
                                                    "lower is", options={"kind": None}),
    "rewards called so": Ugly("reward_a,reward_b\n1,0\n.5,.75\n", losses=AB, options={"kind": None}, notes=("read as scores",)),
    "losses beside scores": Ugly("a_loss,b_loss,a_score,b_score\n0,1,3,4\n.5,.25,3,4\n", losses=AB, notes=("a_score (named like a score)",)),
    "a score among plain names": Ugly("a,b,score\n0,1,.3\n.5,.25,.4\n", losses=AB, notes=("score (named like a score)",)),
    "a loss, a score and a plain name, as scores": Ugly("id,a_loss,b_score,c\nx,1,1,0\ny,1,.5,.75\n", losses=AB, actions=("b_score", "c"), ids=XY, options=SCORES, notes=("ignored: a_loss (named like a loss)",)),
    "a loss, a score and a plain name, as losses": Ugly("id,a_loss,b_score,c\nx,0,1,1\ny,.5,.5,.25\n", losses=AB, actions=("a_loss", "c"), ids=XY, notes=("ignored: b_score (named like a score)",)),
    "scores before losses, as scores": Ugly("a_loss,b_loss,a_score,b_score,c\n0,0,1,0,0\n0,0,.5,.75,0\n", losses=AB, options=SCORES, notes=("a_loss (named like a loss)", "c (not named like a score)")),
    "a score among plain names, as scores": Ugly("a,b,score\n1,0,1\n.5,.75,1\n", losses=[[0, 1, 0], [0.5, 0.25, 0]], actions=("a", "b", "score"), options=SCORES),
    "losses only, as scores": Ugly("a_loss,b_loss\n1,0\n.5,.75\n", losses=AB, options=SCORES),
    "costs in front": Ugly("cost_a,cost_b,a,b\n1,2,0,1\n3,4,.5,.25\n", losses=AB, costs=[[1, 2], [3, 4]], notes=("costs from columns cost_a for a",)),
    "costs behind": Ugly("a,b,b_usd,a_usd\n0,1,2,1\n.5,.25,4,3\n", losses=AB, costs=[[1, 2], [3, 4]]),
    "costs by a pattern": Ugly("a,b,pay b,pay a\n0,1,2,1\n.5,.25,4,3\n", losses=AB, costs=[[1, 2], [3, 4]], options={"costs": ["pay *"]}),
    "costs one by one": Ugly("a,b,p,q\n0,1,1,2\n.5,.25,3,4\n", losses=AB, costs=[[1, 2], [3, 4]], options={"costs": ["p", "q"]}, notes=("p for a, q for b",)),
    "costs by name, left out": Ugly("id,a,b,cost:a,cost:b\nx,0,1,1,2\ny,.5,.25,3,4\n", losses=AB, ids=XY, options={"ignore": ["*cost*"]}),
    "likely costs, left out": Ugly("id,a,b,a_cost,b_cost\nx,0,1,1,2\ny,.5,.25,3,4\n", losses=AB, ids=XY, options={"ignore": ["*cost*"]}),
    "costs of one action only": Ugly("a,b,cost:a\n0,1,1\n", "called 'cost:b'"),
    "a pattern that misses one": Ugly("a,b,pay a\n0,1,1\n", "called 'pay b' as --costs 'pay *' "
                                                            "states", options={"costs": ["pay *"]}),
    "run times": Ugly("minisat_seconds,glucose_seconds\n0,10\n5,2.5\n", losses=AB, actions=("minisat_seconds", "glucose_seconds"), options={"rescale": True}),
    "no cost in any row": Ugly("id,a,b,cost:a,cost:b\nx,0.5,0.25,,\ny,0.5,1,,\n", "expected the costs of some row, got none; leave out their columns", options={"missing": "worst"}),
    "one cost for A and a": Ugly("id,A,a,cost:A\nx,0.5,0.25,1\ny,0.5,1,3\n", "for each of A, a, got 'cost:A' for all of them"),
    "one likely cost for A and a": Ugly("id,A,a,cost_A\nx,0,1,1\ny,.5,.25,3\n", losses=AB, actions="Aa", ids=XY),
    "costs of A and a": Ugly("id,A,a,cost_A,cost_a\nx,0,1,1,2\ny,.5,.25,3,4\n", losses=AB, actions="Aa", ids=XY, costs=[[1, 2], [3, 4]]),
    "costs of A and a, behind": Ugly("id,A,a,A_usd,a_usd\nx,0,1,1,2\ny,.5,.25,3,4\n", losses=AB, actions="Aa", ids=XY, costs=[[1, 2], [3, 4]]),
    "costs of A and a, explicit": Ugly("id,A,a,cost:A,cost:a\nx,0,1,1,2\ny,.5,.25,3,4\n", losses=AB, actions="Aa", ids=XY, costs=[[1, 2], [3, 4]]),
    "costs of names with equal words": Ugly("id,gpt.4,gpt-4,cost_gpt.4,cost_gpt-4\nx,0,1,1,2\ny,.5,.25,3,4\n", losses=AB, actions=("gpt.4", "gpt-4"), ids=XY, costs=[[1, 2], [3, 4]]),
    "a cost of no action": Ugly("a,b,pay a,pay b,pay c\n0,1,1,2,9\n.5,.25,3,4,9\n", losses=AB, costs=[[1, 2], [3, 4]], options={"costs": ["pay *"]}, notes=("pay c (a cost of no candidate)",)),
    "a word as a cost": Ugly("a,b,cost:a,cost:b\n0,1,1,dear\n", "got 'dear'"),
    "half a round of delay": Ugly("a,b,delay\n0,1,1.5\n", "whole numbers of rounds"),
    "a negative delay": Ugly("a,b,delay\n0,1,-1\n", "whole numbers of rounds"),
    # ways to write numbers
    "per cent": Ugly("a,b\n0%,100%\n50 %,25%\n", losses=AB, notes=("percent: '0%' in column 'a' "
                                                                   "was read as 0",)),
    "per cent here and there": Ugly("a,b\n0%,1\n.5,.25\n", "a percent sign in every cell of "
                                                           "column 'a' or in none"),
    "yes and no": Ugly("a,b\nno,YES\nyes,no\n", losses=[[0, 1], [1, 0]], notes=("word: 'no' in column 'a' was read as 0",)),
    "true and false": Ugly("a,b\nFALSE,true\ntrue,false\n", losses=[[0, 1], [1, 0]]),
    "decimal commas": Ugly("a;b\n0;1\n0,5;0,25\n", losses=AB, notes=("decimal comma: '0,5' in "
                                                                     "column 'a' was read as 0.5",)),
    "decimal commas in quotes": Ugly('a,b\n0,1\n"0,5","0,25"\n', losses=AB),
    "commas that may be either": Ugly("a;b\n1,234;0\n2,345;1\n", "may have a decimal comma or "
                                                                 "one between thousands", options={"rescale": True}),
    "commas said to be decimal": Ugly("a;b\n1,000;0\n1,000;1\n", losses=[[1, 0], [1, 1]], options={"decimal": ","}),
    "commas between thousands": Ugly("a;b\n1,234,567;0\n2;1\n", "got '1,234,567'", options={"rescale": True}),
    "points between thousands": Ugly("Nr;a;b\nx;959,00;1.530,00\ny;2.443,00;583,00\nz;1,00;2,00\n", "got '2.443,00'; leave out the points between thousands in every cell: 2443,00.", options={"rescale": True}),
    "commas said not to be decimal": Ugly("a;b\n1,000;0\n1;1\n", "--decimal ,", options={"decimal": "."}),
    "decimal commas without quotes": Ugly("a,b\n0,5,0,25\n", "decimal commas, put quotes around "
                                                             "the cells"),
    "underscores": Ugly("a,b\n1_0,1\n.5,.25\n", "got '1_0'"),
    "currency": Ugly("a,b,cost:a,cost:b\n0,1,$1,$2\n", "column 'cost:a', got '$1'"),
    "a spreadsheet's error": Ugly("a,b\n#DIV/0!,1\n.5,.25\n.5,.25\n", "line 2, column 'a', got "
                                                                      "'#DIV/0!'"),
    "infinity": Ugly("a,b\ninf,1\n.5,.25\n.5,.25\n", "got 'inf'"),
    "dashes for what is missing": Ugly("a,b\n0,1\n-,.25\n", "--missing drop"),
    "dashes as the worst": Ugly("a,b\n0,1\n-,.25\n", losses=[[0, 1], [1, 0.25]], options={"missing": "worst"}, notes=("counted 1 missing cell as loss 1",)),
    "one good word among numbers": Ugly("a,b\n0,1\n.5,good\n0,0\n", "line 3, column 'b', got "
                                                                    "'good'; fill it in, leave "
                                                                    "out the row, or leave out the column with --ignore b"),
    "words for a result": Ugly("id,a,b\nx,pass,fail\ny,fail,pass\n", "got 'pass'; write 1 for "
                                                                     "pass and 0 for fail in "
                                                                     "every cell, with --scores, since higher is then better"),
    "a word for a result among numbers": Ugly("id,a,b\nx,1,0\ny,Failed,1\nz,1,1\n", "got 'Failed'; write 1 for pass and 0 for fail"),
    "points out of ten": Ugly("id,a,b\nx,8/10,9/10\ny,7/10,3/10\n", "got '8/10'; write 0.8, or 8 "
                                                                    "in every cell with --range "
                                                                    "0,10"),
    "points out of ten in words": Ugly("id,a,b\nx,7.5 out of 10,9\ny,7,3\n", "got '7.5 out of 10'; write 0.75, or 7.5 in every cell with --range 0,10"),
    "words for a result beside numbers": Ugly("a,b,done\n0,1,pass\n.5,.25,fail\n", losses=AB, notes=("done (words; to use it, write 1 for pass and 0 for fail)",)),
    "percent beside points": Ugly(MIXED, "expected a number from 0 to 10 in line 3, column "
                                         "'p_c', got '67%'; write numbers in the unit of "
                                         "--range, or leave out the columns in percent: --candidates p_a,p_b", options={**SCORES, "range": (0, 10), "actions": ["p_*"]}),
    "percent beside points, rescaled": Ugly(MIXED, "expected a number like those of the other "
                                                   "actions, 4 to 7, in line 3, column 'p_c', "
                                                   "got '67%'; write all in one unit, or leave out the columns in percent: --candidates p_a,p_b", options={**SCORES, "rescale": True, "actions": ["p_*"]}),
    "percent in a range of 100": Ugly(SHARES, "expected a number from 0 to 100 in line 2, column "
                                              "'a', got '67%'; write numbers in the unit of "
                                              "--range, or leave out --range, since cells in percent are read as fractions from 0 to 1", options={**SCORES, "range": (0, 100)}),
    "percent in a range below 0": Ugly(SHARES, "expected a number from -1 to 1 in line 2", options={**SCORES, "range": (-1, 1)}),
    "percent above 100 in a range of 200": Ugly(SHARES.replace("70", "150"), "got '67%'; write numbers in the unit of --range.", options={**SCORES, "range": (0, 200)}),
    "one column in percent, one not": Ugly("id,a,b\nx,5,6%\ny,7,8%\n", "line 2, column 'b', got "
                                                                       "'6%'; write all in one "
                                                                       "unit.", options={**SCORES, "rescale": True}),
    "percent above 100 beside fractions": Ugly("id,a,b\nx,.5,6%\ny,.7,150%\n", "expected a number from 0 to 2 in line 2, column 'b'", options={**SCORES, "range": (0, 2)}),
    "percent in a long table": Ugly("id,model,score\nx,a,67%\nx,b,5%\ny,a,7%\ny,b,8%\n", "column 'score', got '67%'", options={**SCORES, "range": (0, 100)}),
    "percent as fractions": Ugly(SHARES, losses=[[0.33, 0.8], [0.3, 0.7]], ids=XY, options=SCORES),
    "percent in a range of 1": Ugly(SHARES, losses=[[0.33, 0.8], [0.3, 0.7]], ids=XY, options={**SCORES, "range": (0, 1)}),
    "percent beside fractions": Ugly("id,a,b\nx,67%,0.2\ny,70%,0.3\n", losses=[[0.33, 0.8], [0.3, 0.7]], ids=XY, options={**SCORES, "actions": ["a", "b"]}),
    "percent above 100 in a range of 2": Ugly(SHARES.replace("70", "150"), losses=[[0.665, 0.9], [0.25, 0.85]], ids=XY, options={**SCORES, "range": (0, 2)}),
    "percent beside points, left out": Ugly(MIXED, losses=[[0.5, 0.4], [0.3, 0.6], [0.4, 0.5]], actions=("p_a", "p_b"), ids=("x", "y", "z"), options={**SCORES, "range": (0, 10)}, notes=("p_c (percent, unlike the other columns)",)),
    "points beside commas, said to be decimal": Ugly("id;a;b;cost:a;cost:b\nx;0,5;1;0.5;2.5\ny;1;0;0.5;1.234\n", losses=[[0.5, 1], [1, 0]], ids=XY, costs=[[0.5, 2.5], [0.5, 1.234]], options={"decimal": "."}),
    "1.234 beside a decimal comma": Ugly("id;a;b;cost:a;cost:b\nx;0,5;1;0.5;2.5\ny;1;0;0.5;1.234\n", "line 3, column 'cost:b', got '1.234', which may have a decimal point"),
    "1.234 beside a decimal comma and a gap": Ugly("id;a;b;cost:a;cost:b\nx;0,5;1;0.5;2.5\ny;1;0;NA;1.234\n", "column 'cost:b', got '1.234', which may have a decimal point"),
    "1.234 where commas are said to be decimal": Ugly("id;a;b;cost:a;cost:b\nx;0;1;0.5;2.5\ny;1;0;0.5;1.234\n", "column 'cost:b', got '1.234', which may have", options={"decimal": ","}),
    "1.234 without commas": Ugly("id,a,b\nx,1.234,2.345\ny,0.5,0.7\n", losses=[[1.234 / 5, 2.345 / 5], [0.1, 0.14]], ids=XY, options={"range": (0, 5)}),
    "an action in percent": Ugly("a,b,c\n0.1,59,0.3\n0.9,99,0.2\n0.4,80,1\n", "(outside only in b); in percent? divide it by 100, or leave it out with --ignore b.", options={**SCORES, "actions": ["a", "b", "c"]}),
    "an action in percent, no direction": Ugly("a,b,c\n0.1,59,0.3\n0.9,99,0.2\n0.4,80,1\n", "write --scores if higher is better, --losses if lower is better.", options={"kind": None, "actions": ["a", "b", "c"]}),
    "a column outside of the range": Ugly("id,a,b,c\n1,3,4,31\n2,5,6,12\n3,7,1,15\n", "outside only in c); leave out columns that are no candidates, --ignore c, or", options={**SCORES, "range": (0, 10), "actions": ["a", "b", "c"]}),
    "a column on another scale": Ugly("id,a,b,c,hardness\n" + "".join(f"q{i},{i},{9 - i},{i // 2},0.{i}\n" for i in range(10)), "'hardness' from 0 to 0.9 beside columns up to 9; write --ignore hardness if it is not an action, else name all actions: --candidates a,b,c,hardness"),
    # ways to write files
    "comments above": Ugly("# made in May\n# by hand\na,b\n0,1\n.5,.25\n", losses=AB, notes=("left out 2 lines of comments",)),
    "a separator named": Ugly("sep=;\na;b\n0;1\n.5;.25\n", losses=AB),
    "bars": Ugly("a|b\n0|1\n.5|.25\n", losses=AB, notes=("separated by bars",)),
    "blank rows at the end": Ugly("a,b\n0,1\n.5,.25\n,\n,\n", losses=AB, notes=("left out 2 blank lines",)),
    "a title above": Ugly("My results\na,b\n0,1\n.5,.25\n", losses=AB, notes=("left out 1 line above it, 'My results'",)),
    "no header": Ugly(".5,1\n.5,.25\n", "--no-header if it is data, --header if these are names"),
    "no header but ids": Ugly("x,.5,1\ny,.5,.25\n", "got x, .5, 1, which looks like data"),
    "no header, as told": Ugly("0,1\n.5,.25\n", losses=AB, actions="01", options={"header": False}),
    "numbers as names": Ugly("7,70\n0,1\n.5,.25\n", losses=AB, actions=("7", "70"), options={"header": True}),
    "UTF-16, as Excel writes it": Ugly("a\tb\n0\t1\n.5\t.25\n".encode("utf-16"), losses=AB, name="t.txt"),
    "Latin-1": Ugly("ä,b\n0,1\n.5,.25\n".encode("latin-1"), losses=AB, actions="äb", notes=("cp1252",)),
    "UTF-8 and Latin-1": Ugly("ä,b\n0,1\n".encode() + b"\xe4,1\n", "expected a text table in UTF-8"),
    "old line ends": Ugly("a,b\r0,1\r.5,.25\r", losses=AB),
    "capital ending": Ugly("a,b\n0,1\n.5,.25\n", losses=AB, name="T.CSV"),
    "no ending": Ugly("a,b\n0,1\n.5,.25\n", losses=AB, name="table"),
    "a packed text": Ugly(gzip.compress(b"a,b\n0,1\n.5,.25\n"), losses=AB, name="table.gz"),
    "an old Excel file": Ugly(b"\xd0\xcf\x11\xe0" + bytes(600), "ends in '.xls'", name="t.xls"),
    "a text document": Ugly(b"PK\x03\x04\0\0", "ends in '.docx'", name="t.docx"),
    "a zip archive": Ugly(b"PK\x03\x04\0\0", "ends in '.zip'", name="t.zip"),
    "a PDF": Ugly(b"%PDF\0", "ends in '.pdf'", name="t.pdf"),
    "a pickle": Ugly(b"\x80\x04\x95", "convert it to CSV", name="t.pkl"),
    "line ends of Windows": Ugly("a,b\r\n0,1\r\n0.5,0.25\r\n", losses=AB),
    "no line end at the end": Ugly("a,b\n0,1\n0.5,0.25", losses=AB),
    "blank lines between": Ugly("a,b\n\n0,1\n\n0.5,0.25\n\n", losses=AB),
    "spaces around": Ugly(" a , b \n 0, 1\n.5,2.5e-1\n", losses=AB),
    "everything in quotes": Ugly('"a","b"\n"0","1"\n"0.5","0.25"\n', losses=AB),
    "tabs, called so": Ugly("a\tb\n0\t1\n0.5\t0.25\n", losses=AB, name="t.tsv"),
    "ids called name": Ugly("name,a,b\nx,0,1\ny,0.5,0.25\n", losses=AB, ids=XY),
    "a byte order mark before ids": Ugly("\ufeffid,a,b\nx,0,1\ny,0.5,0.25\n", losses=AB, ids=XY),
    "a byte order mark before an action": Ugly("\ufeffa,b\n0,1\n0.5,0.25\n", losses=AB),
    "ids called ID": Ugly("ID,a,b\n1,0,1\n2,0.5,0.25\n", losses=AB, ids=("1", "2")),
    "nothing": Ugly("", "got 0 lines"),
    "nothing but line ends": Ugly("\n\n", "got 0 lines"),
    "a header only": Ugly("a,b\n", "got 1 line;"),
    "a cell too few": Ugly("a,b\n0,1\n0\n", "got 1 in line 3"),
    "a cell too many": Ugly("a,b\n\n0,1\n\n0,1,1\n", "got 3 in line 5"),
    "a word at the end": Ugly("a,b\n0,1\nbad,1\n", "line 3, column 'a', got 'bad'"),
    "a blank cell": Ugly("a,b\n0,1\n,1\n", "line 3, column 'a', got ''"),
    "nan": Ugly("a,b\n0,nan\n", "got 'nan'"),
    "a name twice": Ugly("a,a\n0,1\n", "'a' twice"),
    "a loss above 1": Ugly("a,b\n0,1.5\n", "from 0 to 1.5"),
    "half a character of UTF-16": Ugly(b"\xff\xfe\x00\xd8\x00\x01", "expected a text table"),
    "a picture": Ugly(b"\x89PNG\r\n\x1a\n\x00\x00", "expected a text table"),
    "an endless number": Ugly("a,b\n" + "9" * 200_000 + ",1\n", "expected a text table"),
    "semicolons": Ugly("a;b\n0;1\n0.5;0.25\n", losses=AB, notes=("columns are separated by "
                                                                 "semicolons",)),
    "tabs": Ugly("a\tb\n0\t1\n0.5\t0.25\n", losses=AB, notes=("columns are separated by tabs",)),
    "an index without a name": Ugly(",a,b\n0,0,1\n1,0.5,0.25\n", losses=AB, ids=("0", "1"), notes=("ids from column ''",)),
    "column numbers": Ugly("0,1\n0,1\n0.5,0.25\n", losses=AB, actions="01", notes=("was read as names",)),
    "packed, called csv": Ugly(gzip.compress(b"a,b\n0,1\n0.5,0.25\n"), losses=AB, notes=("best fixed action: a, mean loss 0.25",)),
    "quotes here and there": Ugly('\n"a",b\n"0",1\n0.5,"0.25"\n', losses=AB, notes=("a wide table: 2 rows, 2 actions (a, b)",)),
    "a line break in an id": Ugly('id,a,b\n"x\ny",0,1\nz,0.5,0.25\n', losses=AB, ids=("x\ny", "z")),
    "spaces between columns": Ugly("a b\n0 1\n", "at least two actions, got 0 (a b)"),
    "one action": Ugly("id,only\nx,0.5\n", "at least two actions, got 1"),
    "a word below blank lines": Ugly("\n\na,b\n0,good\n", "line 4, column 'b', got 'good'"),
    "a word below a line break": Ugly('id,a,b\n"x\ny",0,1\nz,0,good\n', "line 4, column 'b', got 'good'"),
    "nothing but blank rows": Ugly("a,b\n,\n,\n", "got 1 line;"),
    "a quote left open": Ugly('a,b\n"0,1\n' + "0,1\n" * 60_000, "expected a text table"),
    "packed text cut short": Ugly(gzip.compress(b"a,b\n0,1\n" * 99)[:-20], "expected a text table"),
    "packed text that is none": Ugly(b"\x1f\x8b and no more", "expected a text table"),
    "a word in Latin-1": Ugly("a,b\n0,1\nM\u00fcnchen,1\n".encode("latin-1"), "got 'M\u00fcnchen'"),
    "a byte of no encoding": Ugly(b"a,b\n0,1\nM\x81nchen,1\n", "expected a text table in UTF-8"),
    "UTF-16 cut short": Ugly("a,b\n0,1\n".encode("utf-16")[:-1], "expected a text table in UTF-8"),
    "an archive called csv": Ugly(b"PK\x03\x04\x14\x00\x06\x00\x08", "expected a text table"),
    # JSON
    "JSON lines": Ugly(lines({"id": "x", "a": 0, "b": True}, {"id": "y", "a": 0.5, "b": "25%"}), "a percent sign in every cell", name="t.jsonl"),
    "JSON lines, tidy": Ugly(lines({"id": "x", "a": 0, "b": 1}, {"b": 0.25, "a": 0.5, "id": "y"}) + "\n\n", losses=AB, ids=XY, name="t.jsonl"),
    "JSON in JSON": Ugly(lines({"id": "x", "losses": {"a": 0, "b": 1}, "costs": {"a": 1, "b": 2}}, {"id": "y", "losses": {"a": 0.5, "b": 0.25}, "costs": {"a": 3, "b": 4}}), losses=AB, ids=XY, costs=[[1, 2], [3, 4]], name="t.jsonl"),
    "a key left out": Ugly(lines({"id": "x", "a": 0, "b": 1}, {"id": "y", "a": 0.5}), "column 'b', got ''", name="t.jsonl"),
    "a key twice": Ugly('{"a": 0, "a": 1, "b": 1}\n', "a name that comes twice", name="t.jsonl"),
    "a list of objects": Ugly(json.dumps([{"a": 0, "b": 1}, {"a": 0.5, "b": 0.25}]), losses=AB, name="t.json"),
    "an object of lists": Ugly(json.dumps({"a": [0, 0.5], "b": [1, 0.25]}), losses=AB, name="t.json"),
    "an object of objects": Ugly(json.dumps({"a": {"x": 0, "y": 0.5}, "b": {"x": 1, "y": 0.25}}, indent=1), losses=AB, ids=XY, name="t.json"),
    "one line with an object of objects": Ugly(json.dumps({"a": {"x": 0, "y": 0.5}, "b": {"x": 1, "y": 0.25}}), losses=AB, ids=XY, name="t.json"),
    "one line with an object of lists": Ugly('{"a": [0, 0.5], "b": [1, 0.25]}', losses=AB, name="t.jsonl"),
    "one row of nested objects": Ugly('{"losses": {"a": 0.5, "b": 1}, "cost": {"a": 3, "b": 4}}\n', losses=[[0.5, 1]], costs=[[3, 4]], name="t.jsonl"),
    "JSON cut short": Ugly('{"a": 0, "b": 1}\n{"a": 0', "expected JSON", name="t.jsonl"),
    "a number as JSON": Ugly("5", "expected JSON", name="t.json"),
    "names that flatten to one": Ugly('[{"a:b": 0.1, "a": {"b": 0.9, "c": 0.2}}]', "a:b twice in one object", name="t.json"),
    "half a character as an id": Ugly('{"id": "\\ud800", "a": 0, "b": 1}', "valid Unicode", name="t.jsonl"),
    "half a character as a name": Ugly('{"id": "x", "\\udc00": 0, "b": 1}', "valid Unicode", name="t.jsonl"),
    # bases and books
    "one table of a base": Ugly(lambda path: sqlite(path, {"runs": '[["x", 0, 1], ["y", 0.5, '
                                                                   '0.25]]'}), losses=AB, ids=XY, name="t.db", notes=("the table 'runs'",)),
    "two tables of a base": Ugly(lambda path: sqlite(path, {"r": "[]", "s": "[]"}), "expected the name of one table, got r and s", name="t.db"),
    "a table named": Ugly(lambda path: sqlite(path, {"q'": "[]", "s t": '[["x", 0, 1], ["y", 0.5, 0.25]]'}), losses=AB, ids=XY, name="t.db", inner="s t"),
    "an empty table": Ugly(lambda path: sqlite(path, {"r": "[]"}), "at least one row", name="t.db"),
    "no base": Ugly(b"SQLite format 3\0" + bytes(200), "expected an SQLite file", name="t.db"),
    "a sheet": Ugly(excel({"May": [["id", "a", "b"], ["x", 0, 1], [None, None, None], ["y", 0.5, 0.25]]}), losses=AB, ids=XY, name="t.xlsx", notes=("sheet 'May'",)),
    "two sheets": Ugly(excel({"May": [["a"]], "June": [["a"]]}), "--sheet May if the table is May", name="t.xlsx"),
    "a sheet named": Ugly(excel({"May": [["q"]], "June": [["a", "b"], [0, 1], [0.5, 0.25]]}), losses=AB, name="t.xlsx", options={"sheet": "June"}),
    "a title in a sheet": Ugly(excel({"May": [["My results"], ["a", "b"], [0, 1], [0.5, 0.25]]}), losses=AB, name="t.xlsx", notes=("left out 1 line above it, 'My results'",)),
    "no book": Ugly(b"PK\x03\x04" + bytes(300), "expected an Excel file", name="t.xlsx"),
    # long tables
    "long with a score": Ugly("prompt,model,score\nx,a,1\nx,b,0\ny,a,.5\ny,b,.75\n", losses=AB, ids=XY, options={"ids": "prompt", "kind": None}),
    "long as rewards": Ugly("prompt,model,score\nx,a,1\nx,b,0\ny,a,.5\ny,b,.75\n", losses=AB, ids=XY, options={"ids": "prompt", "kind": "scores"}),
    "long without rows": Ugly("model,loss\na,0\nb,1\n", "--id NAME"),
    "long with a line twice": Ugly("row,action,loss\n1,a,0\n1,b,1\n1,a,0\n", "a second one in line 4"),
    "long with a line missing": Ugly("row,action,loss\n1,a,0\n1,b,1\n2,a,0\n", "row '2', action 'b', got none"),
    "long with one action": Ugly("row,action,loss\n1,a,0\n1,a,1\n2,a,0\n", "at least two actions"),
    "long with a word": Ugly("row,action,loss\n1,a,0\n1,b,x\n", "line 3, column 'loss', got 'x'"),
    "long with two delays a row": Ugly("row,action,loss,delay\n1,a,0,1\n1,b,0,2\n", "one delay for each row"),
    "long without an id": Ugly("id,model,loss\nx,a,0.5\nx,b,0.25\nnone,a,0.5\nnone,b,1\n,a,0.5\n,b,1\n", "a name in line 6, column 'id', got none"),
    "long without an action": Ugly("id,model,loss\nx,a,0.5\nx,b,0.25\nnone,a,0.5\nnone,b,1\nx,,1\n", "a name in line 6, column 'model', got none"),
    "logged, an action a line": Ugly("action,probability,visit\nmail,0.5,1\ncall,0.5,0\nmail,0.5,0\n", LOGGED),
    "logged, with ids": Ugly("id,action,loss\n1,mail,0.5\n2,call,1\n3,mail,0\n", LOGGED),
    "logged, a model a line": Ugly("id,model,propensity,loss\n1,big,0.5,0\n2,small,0.5,1\n", LOGGED),
    "logged, a filled cell a row": Ugly("id,mail,call\n1,0.5,\n2,,1\n3,0,\n", LOGGED),
    "long, nothing said": Ugly("id,action,points\nx,a,1\nx,b,0\n", "--value-column NAME", options={"kind": None}),
    "long, unknown names": Ugly("test,tool,score,runtime\nx,a,1,4\nx,b,0,3\ny,a,.5,1\ny,b,.75,2\n", "got words in test, tool and numbers in score, runtime; if there is a line for each row and action, name the columns of the rows and of the actions with --id NAME --action-column NAME", options={"kind": None}),
    "long, unknown names, as scores": Ugly("test,tool,score,size\nx,a,1,4\nx,b,0,3\ny,a,.5,1\ny,b,.75,2\n", "--id NAME --action-column NAME", options=SCORES),
    "long, numbered rows": Ugly("q,tool,score\n1,a,1\n1,b,0\n2,a,.5\n2,b,.75\n", losses=AB, ids=("1", "2"), options=SCORES),
    "long, names given": Ugly("test,tool,score,runtime\nx,a,1,4\nx,b,0,3\ny,a,.5,1\ny,b,.75,2\n", losses=AB, ids=XY, options={"kind": None, "ids": "test", "action": "tool"}),
    "long with columns left out": Ugly("id,model,loss,cost,delay\nx,a,0,1,0\nx,b,1,2,0\ny,a,.5,3,5\ny,b,.25,4,5\n", losses=AB, ids=XY, options={"ignore": ["cost", "del*"]}, notes=("ignored: cost, delay (as requested)",)),
    "long with all its columns": Ugly("id,model,loss,cost,delay\nx,a,0,1,0\nx,b,1,2,0\ny,a,.5,3,5\ny,b,.25,4,5\n", losses=AB, ids=XY, costs=[[1, 2], [3, 4]], delays=[0, 5]),
    "long with an unknown column left out": Ugly("id,model,loss\nx,a,0\nx,b,1\n", "expected a column called 'b' as --ignore states", options={"ignore": ["b"]}),
    # what damages memory or the process
    "64 bits in Parquet": Ugly(lambda path: parquet(path, id=[2**63 - 1, 2**53 + 1], a=[0.0, 0.5], b=[1, 0.25]), losses=AB, ids=("9223372036854775807", "9007199254740993"), name="t.parquet"),
}  # fmt: skip


# Files that are asked about now, where they were read by a guess or refused; and what is named.
ASKED = {
    "an id and a second one": "user_id",
    "a row called mean with other numbers": "model",
    "a row called total, one sum wrong": "total",
    "a row called Gesamt, one sum wrong": "Gesamt",
    "a column of means in German": "Mittelwert",
    "the largest of each row": "Max",
    "rounded means and totals": "mean score",
    "the place of the best": "best",
    "a summary with one blank": "average",
    "a name of a summary, other numbers": "Max",
    "a name of a summary on another scale": "rank",
    "a day called date": "date",
    "a split": "fold",
    "features": "x1",
    "an embedding": "embedding_0",
    "features called f_": "f_0",
    "features called f_ beside scores": "f_0",
    "features called f_ beside run times": "f_0",
    "f_ and one other": "f_0",
    "a single cost": "price",
    "tokens": "prompt tokens",
    "a number of another kind": "words",
    "a percent column": "share",
    "tokens beside scores of 0 to 10": "words",
    "a stratum": "stratum",
    "losses beside scores": "a_loss",
    "a score among plain names": "score",
    "a loss, a score and a plain name, as scores": "a_loss",
    "a loss, a score and a plain name, as losses": "a_loss",
    "scores before losses, as scores": "a_loss",
    "a score among plain names, as scores": "score",
    "one cost for A and a": "cost:A",
    "one likely cost for A and a": "cost_A",
    "costs of A and a": "cost_A",
    "costs of A and a, behind": "A_usd",
    "costs of A and a, explicit": "cost:A",
    "half a round of delay": "delay",
    "a negative delay": "delay",
    "dashes for what is missing": "missing",
    "words for a result": "a",
    "words for a result beside numbers": "done",
    "one column in percent, one not": "a",
    "percent beside points, left out": "p_c",
    "a column on another scale": "hardness",
    "a blank cell": "missing",
    "a key left out": "missing",
    "long with a line missing": "missing",
    "long with two delays a row": "delay",
    "logged, an action a line": "probability",
    "logged, a model a line": "propensity",
    "long, unknown names": "score",
    "long, unknown names, as scores": "score",
    "long, names given": "score",
    "long with all its columns": "delay",
}


def made(ugly: Ugly, folder: Path) -> str:
    path = folder / ugly.name
    if callable(ugly.content):
        ugly.content(path)
    else:
        path.write_bytes(ugly.content if isinstance(ugly.content, bytes) else ugly.content.encode())
    return f"{path}::{ugly.inner}" if ugly.inner else str(path)


@pytest.mark.parametrize("what", UGLY)
def test_ugly_file_is_read_or_rejected(
    what: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    ugly = UGLY[what]
    source = made(ugly, tmp_path)
    if what in ASKED:
        with cli_style(["tombola", "compare", source]), pytest.raises(QuestionError) as asked:
            read_table(source, **{"kind": "losses", **ugly.options})
        assert ASKED[what] in asked.value.columns
        assert asked.value.answers
        for _, command in asked.value.answers:
            assert command.startswith("tombola compare ")
            assert set(re.findall(r" (--[a-z-]+)", command)) <= OPTIONS
        return
    if ugly.says:
        with cli_style():
            sentence = refused(source, **ugly.options)
        assert ugly.says in sentence
        assert set(re.findall(r" (--[a-z-]+)", sentence)) <= OPTIONS, (
            "every remedy exists where the person is"
        )
        return
    with cli_style():
        table = read_table(source, **{"kind": "losses", **ugly.options})
    pool = table.pool
    assert pool.losses.tolist() == pytest.approx(np.array(ugly.losses))
    assert (pool.actions, pool.ids) == (tuple(ugly.actions), ugly.ids)
    assert (None if pool.costs is None else pool.costs[:, :, 0].tolist()) == ugly.costs
    assert (None if table.delays is None else table.delays.tolist()) == ugly.delays
    for note in ugly.notes:
        assert any(note in one for one in table.notes), table.notes


COMMANDS: Any = get_command(app)
OPTIONS = {
    name
    for command in COMMANDS.commands.values()
    for parameter in command.params
    for name in (*parameter.opts, *parameter.secondary_opts)
}


@pytest.mark.parametrize(
    "what", [name for name, ugly in UGLY.items() if not (ugly.says or name in ASKED)]
)
def test_summary_names_needed_options(what: str, tmp_path: Path) -> None:
    """A look needs neither a unit nor a choice about missing cells, and names what `compare` needs."""
    ugly = UGLY[what]
    given = {"kind": "losses", **ugly.options}
    options = {
        name: value for name, value in given.items() if name not in ("range", "rescale", "missing")
    }
    summary = summarise_table(made(ugly, tmp_path), ReadOptions(**options))
    kind = summary.parsed.require_direction()
    with cli_style():
        needed = summary.needed_options(kind)
    assert dict(summary.facts())["actions"].startswith(f"{len(summary.parsed.names)}: ")
    assert len(summary.sample()[1]) == min(3, len(np.array(ugly.losses)))
    # No range is offered over a column that alone is in another unit.
    one_unit = what != "the same, rescaled"
    beyond = one_unit and ("rescale" in given or given.get("range", (0, 1)) != (0, 1))
    assert any(one.startswith(("--rescale", "--range")) for one in needed) == beyond
    assert ("--missing drop" in needed) == ("missing" in ugly.options)
    assert "--missing worst" not in needed


def test_wide_parsing_is_linear(tmp_path: Path) -> None:
    """The number of comparisons of names grows with the columns, not with their square."""
    width, counted = 2000, 0
    text = ",".join(f"a{i}" for i in range(width)) + "\n" + ",".join(["0.5"] * width) + "\n"
    (tmp_path / "t.csv").write_text(text)

    class Counting(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal counted
            counted += 1
            return str(self) == other

        __hash__ = str.__hash__

    table = read_text(tmp_path / "t.csv", ReadOptions())
    counting = Columns(
        table.source, [column._replace(name=Counting(column.name)) for column in table.columns]
    )
    assert read_wide(counting, ReadOptions()).values.shape == (1, width)
    assert counted < 100 * width


def test_bombs_are_rejected(
    tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**13, 1)}
    )
    with zipfile.ZipFile(tmp_path / "lies.npz", "w") as archive:
        archive.writestr("losses.npy", header.getvalue() + bytes(80))
    (tmp_path / "lies.npy").write_bytes(header.getvalue() + bytes(80))
    np.savez_compressed(tmp_path / "bomb.npz", losses=np.zeros((1000, 1000)))
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"0,1\n" * 200_000))
    monkeypatch.setattr("tombola.tables.input_checks._machine_memory", lambda: 4_000_000)
    for name in ("lies.npz", "lies.npy", "bomb.npz", "bomb.csv.gz"):
        refused(tmp_path / name)


def test_damaged_arrow_files_do_not_crash(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    """400 damaged files of each format, in a process of their own: each is read or refused, none ends the process."""
    script = f"""
import numpy as np, pyarrow as pa, pyarrow.feather, pyarrow.parquet
from tombola.errors import TombolaError
from tombola.tables import read_table
table = pa.table({{"id": ["x", "yy", "zzz"], "a": [0.0, 0.5, 1.0], "b": [1.0, 0.25, 0.5]}})
for ending in ("arrow", "feather", "parquet"):
    path = {str(tmp_path / "t.")!r} + ending
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif ending == "feather":
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    else:
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    good = open(path, "rb").read()
    rng = np.random.default_rng(5)
    for _ in range(400):
        broken = bytearray(good)
        for at in rng.integers(0, len(good), rng.integers(1, 6)):
            broken[at] = rng.integers(256)
        cut = rng.integers(len(good) // 2, len(good) + 1) if rng.random() < 0.2 else len(good)
        open(path, "wb").write(broken[:cut])
        try:
            read_table(path, rescale=True, missing="worst")
        except TombolaError as error:
            assert "\\n" not in str(error), error
    print(ending)
"""
    done = run_python("-c", script)
    assert (done.returncode, done.stdout) == (0, "arrow\nfeather\nparquet\n"), done.stderr[-2000:]
