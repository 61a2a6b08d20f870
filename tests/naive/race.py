"""Naive twins of the elimination rules: everything is recomputed from all rows."""

import math
from itertools import combinations, pairwise
from typing import Any


def shrunk_edge(excess: Any, count: Any, variance: Any) -> Any:
    """Approximate the mean of a normal law truncated at 0, as `bets.shrunk_edge`."""
    return (excess / count + math.sqrt((excess / count) ** 2 + 2.55 * variance / count)) / 2


def bets(lead: Any, i: Any, shift: Any, N: Any, rows: Any, variance: Any) -> Any:
    """Return the four bets before they are capped."""
    gain = 1.0 if N == math.inf else N / (N - i)
    edges = [
        gain * shrunk_edge(gain * (lead - i * shift), gain * i + prior, variance)
        for prior in (20, 0.03 * rows)
    ]
    return [edge / (variance + edge**2) for edge in edges] + [0.8 * gain, 0.3 * gain]


class Account:
    """Wealth of one bettor, row by row; more may be paid in."""

    def __init__(self, share: Any, shift: Any, N: Any, length: Any) -> None:
        self.strategies = [share * part for part in (1 / 2, 1 / 4, 1 / 8, 1 / 8)]
        self.deposit, self.shift, self.N, self.length = share, shift, N, length
        self.squares, self.count = 0.0, 0

    @property
    def wealth(self) -> Any:
        return sum(self.strategies)

    def pay(self, amount: Any) -> None:
        self.strategies = [
            w + amount * part
            for w, part in zip(self.strategies, (1 / 2, 1 / 4, 1 / 8, 1 / 8), strict=True)
        ]
        self.deposit += amount

    def bet(self, past: Any, d: Any, variance: Any = None) -> None:
        """Bet on difference d after the past ones; the variance is that of the past bets, if not given."""
        i, lead = len(past), sum(past)
        if variance is None:
            variance = (0.5 + self.squares) / (self.count + 2)
        m = self.shift if self.N == math.inf else (self.N * self.shift - lead) / (self.N - i)
        if m < 1:
            cap = 0.95 / (1 + m) if m > -1 else math.inf
            sizes = bets(lead, i, self.shift, self.N, self.length, variance)
            self.strategies = [
                w * (1 + min(bet, cap) * (d - m))
                for w, bet in zip(self.strategies, sizes, strict=True)
            ]
            self.squares += (d - lead / (i + 10)) ** 2
            self.count += 1


def differences(rows: Any, b: Any, *others: Any) -> Any:
    """Return the loss of b minus the mean loss of the others in each row."""
    return [row[b] - sum(row[a] for a in others) / len(others) for row in rows]


def spread(past: Any, pseudo_rows: Any, size: Any) -> Any:
    """Return the variance of differences to a mean of `size` opponents, with pseudo-rows."""
    squares = sum(d * d for d in past) - (sum(past) ** 2 / len(past) if past else 0)
    return (squares + pseudo_rows * (1 + 1 / size) / 8) / (len(past) + pseudo_rows)


def opponents(rows: Any, b: Any, others: Any, most: Any, pseudo_rows: Any, factor: Any) -> Any:
    """Return b, the first of the others with the clearest lead as a mean, and the variance to them."""
    chosen, largest = 0, 0.0
    for size in range(1, min(most, len(others)) + 1):
        past = differences(rows, b, *others[:size])
        ratio = max(sum(past), 0) ** 2 / spread(past, pseudo_rows, size)
        if size == 1 or ratio > largest * factor:
            chosen, largest = size, ratio
    group = others[:chosen]
    return b, group, spread(differences(rows, b, *group), pseudo_rows, chosen)


def choice(past: Any, b: Any, order: Any, k: Any) -> Any:
    """Return b, its opponents in a race for the best, and the variance; `order` ranks the active candidates."""
    others = [a for a in order if a != b]
    return opponents(past, b, others, 8, 2, 1.1) if k > 2 else (b, others[:1], None)


def wealth(rows: Any, choices: Any, shift: Any, N: Any, length: Any, since: Any = 0) -> Any:
    """Return the wealth of bets from row `since` on; choices[i] are candidate, opponents, variance in row since + i."""
    account = Account(1.0, shift, N, length)
    for i, (b, group, variance) in enumerate(choices, start=since):
        [d] = differences([rows[i]], b, *group)
        account.bet(differences(rows[:i], b, *group), d, variance)
    return account.wealth


def totals(rows: Any, k: Any) -> Any:
    """Return the sum of each column."""
    return [sum(row[a] for row in rows) for a in range(k)]


def ranked(rows: Any, active: Any, k: Any) -> Any:
    """Return the active candidates by total loss, the lowest numbers first among equals."""
    sums = totals(rows, k)
    return sorted(active, key=lambda a: (sums[a], a))


def impossible(rows: Any, b: Any, o: Any, shift: Any, N: Any) -> Any:
    """Return whether b cannot be that close to o even if it wins every remaining row."""
    if N == math.inf:
        return False
    lead = sum(row[b] - row[o] for row in rows)
    return lead - N * shift > N - len(rows) + 1e-9 * N


def best(table: Any, level: Any, N: Any = None) -> Any:
    """Return the active candidates after each row, up to the end of the race."""
    N = len(table) if N is None else N
    k = len(table[0])
    active, history = list(range(k)), []
    choices: Any = {b: [] for b in range(k)}
    for i in range(len(table)):
        if len(active) == 1:
            break
        past, seen = table[:i], table[: i + 1]
        order = ranked(past, active, k)
        for b in active:
            choices[b].append(choice(past, b, order, k))
        out = [b for b in active if wealth(seen, choices[b], 0.0, N, len(table)) >= 1 / level]
        if len(out) == len(active):
            out.remove(order[0])
        active = [b for b in active if b not in out]
        leader = ranked(seen, active, k)[0]
        active = [b for b in active if not impossible(seen, b, leader, 0.0, N)]
        history.append(list(active))
    return history


def within(table: Any, level: Any, margin: Any) -> Any:
    """Return the active candidates at the end, and the chosen one; drops are those of `best` at its share."""
    N, k = len(table), len(table[0])
    limits = ((0.2, 0.999), (1.0, 0.97), (1.5, 0.9), (math.inf, 0.5))
    drops = level * next(share for end, share in limits if margin * math.sqrt(N) < end)
    share = 1 / max(k - 1, 1)
    accounts = {(a, b): Account(share, -margin, N, N) for a in range(k) for b in range(k) if a != b}
    history = [list(range(k)), *best(table, drops)]
    settled: Any = set()
    for i, (active, after) in enumerate(pairwise(history)):
        sums = totals(table[:i], k)
        for a in active:
            if sums[a] <= min(sums[c] for c in active) + i * margin:
                for b in active:
                    if b != a:
                        accounts[a, b].bet(differences(table[:i], b, a), table[i][b] - table[i][a])
                        sure = impossible(table[: i + 1], b, a, -margin, N)
                        if accounts[a, b].wealth >= 1 / (level - drops) or sure:
                            settled.add((a, b))
        for c in [c for c in active if c not in after]:
            for b in after:
                heirs = [a for a in after if a != b]
                amount = min(accounts[c, b].wealth, accounts[c, b].deposit)
                for a in heirs:
                    accounts[a, b].pay(amount / len(heirs))
        near = [a for a in after if all((a, b) in settled for b in after if b != a)]
        if i + 1 == N:
            # The totals are known: the smallest decides, not who was close before the last row.
            near = after
        if near:
            return after, ranked(table[: i + 1], near, k)[0]
    return history[-1], (0 if k == 1 else None)


def top(table: Any, level: Any, m: Any, most: Any = 5000) -> Any:
    """Return the active candidates at the end of a race for the best m; at most `most` sets are listed."""
    N, k = len(table), len(table[0])
    pairs = {(a, b): Account(1.0, 0.0, N, N) for a in range(k) for b in range(k) if a != b}
    few = math.comb(k, m) <= most
    threshold = 1 / level if few else 4 / level
    active, since = list(range(k)), 0
    certain: Any = set()
    chosen: Any = None
    # The least wealth at which a set with the candidate was rejected.
    least = dict.fromkeys(active, math.inf)
    for i in range(N):
        if len(active) <= m:
            break
        if chosen is None and math.comb(len(active), m) <= most:
            chosen, since = {members: [] for members in combinations(active, m)}, i
        sums = totals(table[:i], k)
        out: Any = dict.fromkeys(active, 0.0)
        for a, b in pairs:
            if a in active and b in active:
                pairs[a, b].bet(differences(table[:i], b, a), table[i][b] - table[i][a])
                certain |= {(a, b)} if impossible(table[: i + 1], b, a, 0.0, N) else set()
        if chosen is not None:
            out = dict.fromkeys(active, math.inf)
            rejected: Any = set()
            for members, choices in chosen.items():
                others = [a for a in ranked(table[:i], active, k) if a not in members]
                worst = max(members, key=lambda b: (sums[b], -b))
                choices.append(
                    opponents(table[:i], worst, others, 4, 10, 1 + 1e-9)
                    if k > 2
                    else (worst, others[:1], None)
                )
                value = wealth(table[: i + 1], choices, 0.0, N, N, since)
                if any((a, b) in certain for a in others for b in members):
                    value = math.inf
                out |= {b: min(out[b], value) for b in members}
                if value >= threshold:
                    rejected |= {members}
                    least |= {b: min(least[b], value) for b in members}
            out = {
                b: min(value, least[b]) if value >= threshold else value for b, value in out.items()
            }
            chosen = {
                members: choices for members, choices in chosen.items() if members not in rejected
            }
        if not few:
            for b in active:
                against = sorted(
                    math.inf if (a, b) in certain else pairs[a, b].wealth
                    for a in range(k)
                    if a != b
                )
                out[b] = max(out[b], sum(against[: k - m]) / (k - m) / m * 3)
        if i + 1 == N:
            # The totals are known, and decide, whatever the bets have rejected.
            sums = totals(table, k)
            return [b for b in active if sum(sums[a] < sums[b] - 1e-9 * N for a in active) < m]
        for b in sorted(active, key=lambda b: (-out[b], b)):
            if out[b] >= threshold and len(active) > m:
                active.remove(b)
                chosen = chosen and {
                    members: past for members, past in chosen.items() if b not in members
                }
    return active


def gate(table: Any, level: Any, baseline: Any, margin: Any) -> Any:
    """Return the decisions about the other candidates: True, False, or none."""
    N, k = len(table), len(table[0])
    decisions = {}
    for c in [c for c in range(k) if c != baseline]:
        ahead, behind = Account(1.0, -margin, N, N), Account(1.0, margin, N, N)
        for i in range(N):
            forth, back = (
                differences(table[: i + 1], baseline, c),
                differences(table[: i + 1], c, baseline),
            )
            ahead.bet(forth[:-1], forth[-1])
            behind.bet(back[:-1], back[-1])
            yes = math.inf if impossible(table[: i + 1], baseline, c, -margin, N) else ahead.wealth
            no = math.inf if impossible(table[: i + 1], c, baseline, margin, N) else behind.wealth
            if max(yes, no) >= (k - 1) / level:
                decisions[c] = yes >= no
                break
            if i == N - 1:
                decisions[c] = (
                    sum(forth) > 1e-9 * N if margin == 0 else sum(forth) >= -margin * N - 1e-9 * N
                )
    return decisions
