/* Bandit loops of tombola, hand-written in C: one per learner, without delays.

Table, order, prefetch distance, rng and sums are those of tombola, so that results can be compared to the last bit
(compile with -ffp-contract=off). */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { PREFETCH_ROUNDS = 16, MAX_ACTIONS = 1024 };
enum { LOSS, EXPECTED, COMPARATOR, SWITCHES, SUMS };

typedef struct {
    const double *losses;
    const int64_t *labels;
    const uint32_t *order;
    int64_t rounds, k, best;
} Table;

typedef struct {
    double *sums, *plays, *curve;
    const int64_t *marks;
    int64_t marks_size, mark, last;
} Accumulators;

/* A macro, because gcc treats a function that only prefetches as one without effect and removes every call of it. */
#define PREFETCH_ROW(table, t)                                                                                        \
    if ((t) + PREFETCH_ROUNDS < (table)->rounds)                                                                      \
    __builtin_prefetch((table)->losses + (int64_t)(table)->order[(t) + PREFETCH_ROUNDS] * (table)->k)

/* Return the loss of the action in round t, and update sums, plays and curve. */
static inline double play(const Table *table, Accumulators *accumulators, int64_t t, int64_t action) {
    const double *row = table->losses + (int64_t)table->order[t] * table->k;
    double loss = row[table->labels[action]];
    accumulators->sums[LOSS] += loss;
    accumulators->sums[EXPECTED] += loss;
    accumulators->sums[COMPARATOR] += row[table->labels[table->best]];
    if (t > 0 && action != accumulators->last)
        accumulators->sums[SWITCHES] += 1.0;
    accumulators->last = action;
    accumulators->plays[action] += 1.0;
    if (accumulators->mark < accumulators->marks_size && t + 1 == accumulators->marks[accumulators->mark]) {
        memcpy(accumulators->curve + SUMS * accumulators->mark, accumulators->sums, SUMS * sizeof(double));
        accumulators->mark++;
    }
    return loss;
}

static inline double uniform(uint64_t *s) {
    uint64_t total = s[0] + s[3], result = ((total << 23) | (total >> 41)) + s[0], shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return (double)(result >> 11) * 0x1p-53;
}

static inline int64_t draw(const double *mix, int64_t k, uint64_t *rng) {
    double point = uniform(rng);
    int64_t last = 0;
    for (int64_t a = 0; a < k; a++)
        if (mix[a] > 0.0) {
            last = a;
            point -= mix[a];
            if (point < 0.0)
                break;
        }
    return last;
}

static inline int64_t lowest(const double *values, int64_t k) {
    int64_t best = 0;
    for (int64_t a = 1; a < k; a++)
        if (values[a] < values[best])
            best = a;
    return best;
}

void ucb1(const Table *table, Accumulators *accumulators, uint64_t *rng, double scale) {
    double seen[MAX_ACTIONS] = {0}, means[MAX_ACTIONS] = {0}, shrink[MAX_ACTIONS] = {0};
    (void)rng;
    for (int64_t t = 0; t < table->rounds; t++) {
        PREFETCH_ROW(table, t);
        int64_t action = t;
        if (t >= table->k) {
            double width = sqrt(scale * log((double)t)), least = INFINITY;
            action = 0;
            for (int64_t a = 0; a < table->k; a++) {
                double index = means[a] - width * shrink[a];
                if (index < least) {
                    least = index;
                    action = a;
                }
            }
        }
        double loss = play(table, accumulators, t, action);
        seen[action] += 1.0;
        means[action] += (loss - means[action]) / seen[action];
        shrink[action] = 1.0 / sqrt(seen[action]);
    }
}

void successive_elimination(const Table *table, Accumulators *accumulators, uint64_t *rng, double width) {
    double seen[MAX_ACTIONS] = {0}, means[MAX_ACTIONS] = {0};
    int64_t active[MAX_ACTIONS], left = table->k, turn = 0;
    (void)rng;
    for (int64_t a = 0; a < table->k; a++)
        active[a] = a;
    for (int64_t t = 0; t < table->rounds; t++) {
        PREFETCH_ROW(table, t);
        if (turn == left) {
            if (left > 1) {
                double ceiling = INFINITY;
                for (int64_t i = 0; i < left; i++)
                    ceiling = fmin(ceiling, means[active[i]] + width / sqrt(seen[active[i]]));
                int64_t kept = 0;
                for (int64_t i = 0; i < left; i++)
                    if (means[active[i]] - width / sqrt(seen[active[i]]) <= ceiling)
                        active[kept++] = active[i];
                left = kept;
            }
            turn = 0;
        }
        int64_t action = active[turn++];
        double loss = play(table, accumulators, t, action);
        seen[action] += 1.0;
        means[action] += (loss - means[action]) / seen[action];
    }
}

void exp3(const Table *table, Accumulators *accumulators, uint64_t *rng, double rate) {
    double totals[MAX_ACTIONS] = {0}, weights[MAX_ACTIONS], mix[MAX_ACTIONS], base = 0.0;
    int64_t k = table->k;
    for (int64_t a = 0; a < k; a++)
        weights[a] = 1.0;
    for (int64_t t = 0; t < table->rounds; t++) {
        PREFETCH_ROW(table, t);
        double total = 0.0;
        for (int64_t a = 0; a < k; a++)
            total += weights[a];
        if (total < 1e-100) {
            base = rate * totals[lowest(totals, k)];
            total = 0.0;
            for (int64_t a = 0; a < k; a++)
                total += weights[a] = exp(base - rate * totals[a]);
        }
        for (int64_t a = 0; a < k; a++)
            mix[a] = weights[a] / total;
        int64_t action = draw(mix, k, rng);
        double loss = play(table, accumulators, t, action);
        totals[action] += loss / mix[action];
        weights[action] = exp(base - rate * totals[action]);
    }
}

void tsallis_inf(const Table *table, Accumulators *accumulators, uint64_t *rng, double parameter) {
    double totals[MAX_ACTIONS] = {0}, gaps[MAX_ACTIONS], mix[MAX_ACTIONS], y = sqrt((double)table->k);
    int64_t k = table->k;
    (void)parameter;
    for (int64_t t = 0; t < table->rounds; t++) {
        PREFETCH_ROW(table, t);
        double half_eta = 1.0 / sqrt((double)t + 1.0), smallest = totals[lowest(totals, k)], total = 1.0;
        for (int64_t a = 0; a < k; a++)
            gaps[a] = (totals[a] - smallest) * half_eta;
        for (int step = 0; step < 60; step++) {
            double slope = 0.0;
            total = 0.0;
            for (int64_t a = 0; a < k; a++) {
                double inverse = 1.0 / (y + gaps[a]);
                mix[a] = inverse * inverse;
                total += mix[a];
                slope += mix[a] * inverse;
            }
            if (fabs(total - 1.0) <= 1e-11)
                break;
            y = fmax(1.0, y + total * (sqrt(total) - 1.0) / slope);
        }
        for (int64_t a = 0; a < k; a++)
            mix[a] /= total;
        int64_t action = draw(mix, k, rng);
        double loss = play(table, accumulators, t, action);
        totals[action] += loss / mix[action];
    }
}
