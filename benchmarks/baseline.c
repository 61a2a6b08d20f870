/* Loops of tombola, hand-written in C: one per learner, without delays.

Table, order, prefetch distance, rng and sums are those of tombola, so that results can be compared to the last bit
(compile with -ffp-contract=off). */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* Update sums, plays and curve with the action of round t; return its loss. */
static inline double record(const Table *table, Accumulators *accumulators, int64_t t, int64_t action, double loss,
                            double expected) {
    const double *row = table->losses + (int64_t)table->order[t] * table->k;
    accumulators->sums[LOSS] += loss;
    accumulators->sums[EXPECTED] += expected;
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

/* As `record`, for an action that is not drawn from a mix. */
static inline double play(const Table *table, Accumulators *accumulators, int64_t t, int64_t action) {
    double loss = table->losses[(int64_t)table->order[t] * table->k + table->labels[action]];
    return record(table, accumulators, t, action, loss, loss);
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

/* Full information: rows are read whole, and prefetched by cache lines of eight losses. */
#define PREFETCH_WHOLE_ROW(table, t)                                                                                  \
    if ((t) + PREFETCH_ROUNDS < (table)->rounds)                                                                      \
        for (int64_t a = 0; a < (table)->k; a += 8)                                                                   \
    __builtin_prefetch((table)->losses + (int64_t)(table)->order[(t) + PREFETCH_ROUNDS] * (table)->k + a)

void follow_the_leader(const Table *table, Accumulators *accumulators, uint64_t *rng, double parameter) {
    double totals[MAX_ACTIONS] = {0};
    int64_t k = table->k;
    (void)rng, (void)parameter;
    for (int64_t t = 0; t < table->rounds; t++) {
        PREFETCH_WHOLE_ROW(table, t);
        const double *row = table->losses + (int64_t)table->order[t] * k;
        play(table, accumulators, t, lowest(totals, k));
        for (int64_t a = 0; a < k; a++)
            totals[a] += row[table->labels[a]];
    }
}

static inline double sum_of_four(const double *values, int64_t k) {
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    int64_t last = k - k % 4;
    for (int64_t i = 0; i < last; i += 4) {
        a += values[i];
        b += values[i + 1];
        c += values[i + 2];
        d += values[i + 3];
    }
    for (int64_t i = last; i < k; i++)
        a += values[i];
    return (a + b) + (c + d);
}

static inline double dot_of_four(const double *left, const double *right, int64_t k) {
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    int64_t last = k - k % 4;
    for (int64_t i = 0; i < last; i += 4) {
        a += left[i] * right[i];
        b += left[i + 1] * right[i + 1];
        c += left[i + 2] * right[i + 2];
        d += left[i + 3] * right[i + 3];
    }
    for (int64_t i = last; i < k; i++)
        a += left[i] * right[i];
    return (a + b) + (c + d);
}

static inline double smallest_of(const double *values, int64_t k) {
    double least = values[0];
    for (int64_t a = 1; a < k; a++)
        least = values[a] < least ? values[a] : least;
    return least;
}

/* exp(y) for y <= 0 by arithmetic alone, so that the loop over actions vectorises; as engine/vectors.py. */
static inline double exponential(double y) {
    const double offset = 6755399441055744.0;
    double bounded = y > -700.0 ? y : -700.0, rounded = bounded * 1.4426950408889634 + offset, n = rounded - offset;
    double r = (bounded - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double high = 1.0 / 40320 + r * (1.0 / 362880 + r * (1.0 / 3628800 + r * (1.0 / 39916800 +
                  r * (1.0 / 479001600 + r * (1.0 / 6227020800)))));
    double part = 1.0 + r * (1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 +
                  r * (1.0 / 720 + r * (1.0 / 5040 + r * high)))))));
    union { double number; uint64_t word; } bits = {rounded};
    bits.word = (bits.word << 52) + ((uint64_t)1023 << 52);
    return y > -700.0 ? part * bits.number : 0.0;
}

void hedge(const Table *table, Accumulators *accumulators, uint64_t *rng, double rate) {
    double totals[MAX_ACTIONS] = {0}, mix[MAX_ACTIONS], row[MAX_ACTIONS];
    int64_t k = table->k;
    for (int64_t t = 0; t < table->rounds; t++) {
        PREFETCH_WHOLE_ROW(table, t);
        const double *source = table->losses + (int64_t)table->order[t] * k;
        double least = smallest_of(totals, k);
        if (k < 8)
            for (int64_t a = 0; a < k; a++)
                mix[a] = exp(-rate * (totals[a] - least));
        else
            for (int64_t a = 0; a < k; a++)
                mix[a] = exponential(-rate * (totals[a] - least));
        double weight = sum_of_four(mix, k);
        for (int64_t a = 0; a < k; a++)
            mix[a] /= weight;
        for (int64_t a = 0; a < k; a++)
            row[a] = source[table->labels[a]];
        int64_t action = draw(mix, k, rng);
        record(table, accumulators, t, action, row[action], dot_of_four(mix, row, k));
        for (int64_t a = 0; a < k; a++)
            totals[a] += row[a];
    }
}

/* A uniform integer in 0..count-1 (Lemire), as rng.py. */
static inline uint32_t uniform_integer(uint64_t *s, uint64_t count) {
    uint64_t least = ((uint64_t)1 << 32) % count, product;
    do {
        uint64_t total = s[0] + s[3], result = ((total << 23) | (total >> 41)) + s[0], shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = (s[3] << 45) | (s[3] >> 19);
        product = (result >> 32) * count;
    } while ((product & 0xFFFFFFFF) < least);
    return (uint32_t)(product >> 32);
}

/* Write the play shares of follow the leader on as many draws from the past as it has rows. */
static void train_leader(const double *past, int64_t rows, int64_t k, uint64_t *rng, double *mix) {
    static uint32_t order[1 << 14];
    double totals[MAX_ACTIONS] = {0};
    for (int64_t a = 0; a < k; a++)
        mix[a] = 0.0;
    for (int64_t begun = 0; begun < rows; begun += 1 << 14) {
        int64_t count = rows - begun < 1 << 14 ? rows - begun : 1 << 14;
        for (int64_t t = 0; t < count; t++)
            order[t] = uniform_integer(rng, (uint64_t)rows);
        for (int64_t t = 0; t < count; t++) {
            if (t + PREFETCH_ROUNDS < count)
                for (int64_t a = 0; a < k; a += 8)
                    __builtin_prefetch(past + (int64_t)order[t + PREFETCH_ROUNDS] * k + a);
            const double *row = past + (int64_t)order[t] * k;
            mix[lowest(totals, k)] += 1.0;
            for (int64_t a = 0; a < k; a++)
                totals[a] += row[a];
        }
    }
    for (int64_t a = 0; a < k; a++)
        mix[a] /= (double)rows;
}

/* Simulation(FollowTheLeader()), with trainings at 1, 2, 4, .. rows. */
void simulation(const Table *table, Accumulators *accumulators, uint64_t *rng, double growth) {
    int64_t k = table->k, next = 1;
    double mix[MAX_ACTIONS] = {1.0};
    size_t size = (size_t)(table->rounds * k) * sizeof(double), page = (size_t)1 << 21;
    double *past = aligned_alloc(page, (size + page - 1) / page * page);
    if (!past)
        return;
    madvise(past, size, MADV_HUGEPAGE); /* as NumPy does for large arrays */
    for (int64_t t = 0; t < table->rounds; t++) {
        PREFETCH_WHOLE_ROW(table, t);
        if (t >= next) {
            train_leader(past, t, k, rng, mix);
            next = (int64_t)(growth * (double)t) > t + 1 ? (int64_t)(growth * (double)t) : t + 1;
        }
        const double *source = table->losses + (int64_t)table->order[t] * k;
        double *row = past + t * k;
        for (int64_t a = 0; a < k; a++)
            row[a] = source[table->labels[a]];
        int64_t action = draw(mix, k, rng);
        record(table, accumulators, t, action, row[action], dot_of_four(mix, row, k));
    }
    free(past);
}
