// Scores of many linear models on rows, with everything that voting and shifting need, tile by
// tile; compiled once per instruction set.
//
// A score is one sum over the columns in ascending order with fused products, a squared distance
// one such sum of plain products: each depends on its row and model alone, so that blocks and
// threads change nothing. Zeros add nothing, so dense and sparse rows give the same bits. This file
// is compiled without contraction: equal distances must stay equal.
#include "prototypes.h"

#include "lanes.h"

namespace shiftlearn {
namespace SHIFTLEARN_ISA_NAMESPACE {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 8, kPanels = 2;
#else
constexpr int kRows = 4, kPanels = 1;
#endif
constexpr std::int64_t kBlock = 64;  // rows whose sums are open at a time
constexpr double kNone = -1e300;

template <int P>
SHIFTLEARN_INLINE void dense_scores(const double *const row[kRows], const double *panel,
                                    std::int64_t d, const double *bias, Lanes f[kRows][P]) {
    for (int r = 0; r < kRows; ++r)
        for (int p = 0; p < P; ++p) f[r][p] = all(0.0);
    for (std::int64_t k = 0; k < d; ++k) {
        Lanes w[P];
        for (int p = 0; p < P; ++p) w[p] = load(panel + (p * d + k) * kLanes);
        for (int r = 0; r < kRows; ++r) {
            const Lanes x = all(row[r][k]);
            for (int p = 0; p < P; ++p) f[r][p] = fma(x, w[p], f[r][p]);
        }
    }
    for (int p = 0; p < P; ++p)
        for (int r = 0; r < kRows; ++r) f[r][p] = f[r][p] + load(bias + p * kLanes);
}

template <int P>
SHIFTLEARN_INLINE void sparse_scores(const TableRows &x, std::int64_t row, const double *panel,
                                     const double *bias, Lanes f[P]) {
    for (int p = 0; p < P; ++p) f[p] = all(0.0);
    for (std::int64_t t = x.pointers[row]; t < x.pointers[row + 1]; ++t) {
        const Lanes value = all(x.values[t]);
        const double *w = panel + x.columns[t] * kLanes;
        for (int p = 0; p < P; ++p) f[p] = fma(value, load(w + p * x.n_columns * kLanes), f[p]);
    }
    for (int p = 0; p < P; ++p) f[p] = f[p] + load(bias + p * kLanes);
}

// Calls take(row, panel, f) for all rows of a block on P neighbouring panels.
template <int P, class Take>
SHIFTLEARN_INLINE void scores_of(const TableRows &x, const ModelPanels &m, std::int64_t panel,
                                 std::int64_t from, std::int64_t to, const Take &take) {
    const std::int64_t d = x.n_columns;
    const double *coef = m.coef + panel * d * kLanes, *bias = m.bias + panel * kLanes;
    if (x.pointers) {
        for (std::int64_t i = from; i < to; ++i) {
            Lanes f[P];
            sparse_scores<P>(x, i, coef, bias, f);
            for (int p = 0; p < P; ++p) take(i, panel + p, f[p]);
        }
        return;
    }
    for (std::int64_t i = from; i < to; i += kRows) {
        const double *row[kRows];
        for (int r = 0; r < kRows; ++r)
            row[r] = x.values + (i + r < to ? i + r : to - 1) * d;
        Lanes f[kRows][P];
        dense_scores<P>(row, coef, d, bias, f);
        for (int r = 0; r < kRows && i + r < to; ++r)
            for (int p = 0; p < P; ++p) take(i + r, panel + p, f[r][p]);
    }
}

template <class Take>
SHIFTLEARN_INLINE void class_scores(const TableRows &x, const ModelPanels &m, std::int64_t c,
                                    std::int64_t from, std::int64_t to, const Take &take) {
    std::int64_t panel = m.class_panels[c];
    for (; panel + kPanels <= m.class_panels[c + 1]; panel += kPanels)
        scores_of<kPanels>(x, m, panel, from, to, take);
    for (; panel < m.class_panels[c + 1]; ++panel) scores_of<1>(x, m, panel, from, to, take);
}

SHIFTLEARN_INLINE Lanes probabilities(const ModelPanels &m, std::int64_t panel, Lanes f) {
    const std::int64_t at = panel * kLanes;
    const Lanes z = fma(load(m.slope + at), smaller(f, load(m.cap + at)), load(m.offset + at));
    const Lanes zero = all(0.0), one = all(1.0);
    const Mask positive = less(zero, z);
    const Lanes e = exp_of_negative(choose(positive, zero - z, z));
    const Lanes top = choose(positive, e, one);
    double up[kLanes], down[kLanes], p[kLanes];
    store(up, top);
    store(down, one + e);
    for (int l = 0; l < kLanes; ++l) p[l] = up[l] / down[l];
    return load(p);
}

struct Open {
    Lanes sum, largest;
};

double added(Lanes a) {
    double v[kLanes], total = 0.0;
    store(v, a);
    for (int l = 0; l < kLanes; ++l) total += v[l];
    return total;
}

SHIFTLEARN_INLINE std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

double sparse_distance(const TableRows &x, std::int64_t a, std::int64_t b) {
    std::int64_t i = x.pointers[a], j = x.pointers[b];
    const std::int64_t last_i = x.pointers[a + 1], last_j = x.pointers[b + 1];
    double total = 0.0;
    while (i < last_i || j < last_j) {
        double u = 0.0, v = 0.0;
        const std::int32_t ci = i < last_i ? x.columns[i] : 0x7fffffff;
        const std::int32_t cj = j < last_j ? x.columns[j] : 0x7fffffff;
        if (ci <= cj) u = x.values[i++];
        if (cj <= ci) v = x.values[j++];
        const double gap = u - v;
        total += gap * gap;
    }
    return total;
}

SHIFTLEARN_INLINE Lanes panel_distances(const double *row, const double *panel, std::int64_t d) {
    Lanes total = all(0.0);
    for (std::int64_t k = 0; k < d; ++k) {
        const Lanes gap = all(row[k]) - load(panel + k * kLanes);
        total = total + gap * gap;
    }
    return total;
}

struct Nearest {
    double distance;
    std::int64_t place;
};

// The nearest of the marked models of one panel takes the row if nobody nearer has it.
void claim(const TableRows &x, const ModelPanels &m, std::int64_t row, std::int64_t panel,
           unsigned marked, Nearest &best) {
    const std::int64_t at = panel * kLanes;
    double distance[kLanes];
    if (!x.pointers)
        store(distance, panel_distances(x.values + row * x.n_columns,
                                        m.exemplars + at * x.n_columns, x.n_columns));
    for (; marked; marked &= marked - 1) {
        const int lane = first_bit(marked);
        const double here =
            x.pointers ? sparse_distance(x, row, m.exemplar[at + lane]) : distance[lane];
        if (here < best.distance || best.place < 0) best = {here, at + lane};
    }
}

void take_own_class(const TableRows &x, const ModelPanels &m, Shift &s, std::int64_t row,
                    std::int64_t panel, unsigned marked, Nearest &best) {
    const std::int64_t at = panel * kLanes;
    unsigned candidates = marked;
    for (unsigned left = marked; left; left &= left - 1) {
        const int lane = first_bit(left);
        ++s.same[at + lane];
        if (m.exemplar[at + lane] != row) continue;
        s.self[at + lane] = 1;
        if (!s.own) candidates &= ~(1u << lane);
    }
    if (candidates) claim(x, m, row, panel, candidates, best);
}

void take_other_class(const ModelPanels &m, Shift &s, std::int64_t row, std::int64_t panel,
                      unsigned marked) {
    const std::int64_t at = panel * kLanes;
    for (; marked; marked &= marked - 1) {
        const std::int64_t place = at + first_bit(marked);
        ++s.other[place];
        if (!(s.rate > 0.0)) continue;
        const std::uint64_t exemplar = static_cast<std::uint64_t>(m.exemplar[place]);
        const std::uint64_t drawn = mix(mix(s.key ^ exemplar) ^ static_cast<std::uint64_t>(row));
        if (static_cast<double>(drawn >> 11) * 0x1p-53 < s.rate) s.hit(s.context, {place, row});
    }
}

}  // namespace

void vote_rows(const TableRows &x, const ModelPanels &m, std::int64_t from, std::int64_t to,
               Votes &votes) {
    Open open[kBlock];
    for (; from < to; from += kBlock) {
        const std::int64_t end = from + kBlock < to ? from + kBlock : to;
        for (std::int64_t i = from; i < end; ++i) votes.fires[i] = 0;
        for (std::int64_t c = 0; c < m.n_classes; ++c) {
            for (std::int64_t i = 0; i < end - from; ++i) open[i] = {all(0.0), all(kNone)};
            class_scores(x, m, c, from, end, [&](std::int64_t row, std::int64_t panel, Lanes f) {
                Open &mine = open[row - from];
                mine.largest = larger(mine.largest, f);
                const Mask fire = less(all(0.0), f);
                const bool some = bits(fire) != 0;
                if (some) votes.fires[row] = 1;
                if (!some && !votes.every) return;
                const Lanes p = probabilities(m, panel, f);
                mine.sum = mine.sum + (votes.every ? p : choose(fire, p, all(0.0)));
            });
            for (std::int64_t i = from; i < end; ++i) {
                votes.sums[i * m.n_classes + c] = added(open[i - from].sum);
                votes.largest[i * m.n_classes + c] = largest(open[i - from].largest);
            }
        }
    }
}

void shift_rows(const TableRows &x, const ModelPanels &m, std::int64_t from, std::int64_t to,
                Shift &s) {
    Nearest best[kBlock];
    for (; from < to; from += kBlock) {
        const std::int64_t end = from + kBlock < to ? from + kBlock : to;
        for (std::int64_t i = 0; i < end - from; ++i) best[i] = {0.0, -1};
        for (std::int64_t c = 0; c < m.n_classes; ++c)
            class_scores(x, m, c, from, end, [&](std::int64_t row, std::int64_t panel, Lanes f) {
                const unsigned marked = bits(less(all(0.0), f));
                if (!marked) return;
                if (s.codes[row] == c) take_own_class(x, m, s, row, panel, marked, best[row - from]);
                else take_other_class(m, s, row, panel, marked);
            });
        for (std::int64_t i = from; i < end; ++i) s.claims[i] = best[i - from].place;
    }
}

void score_pairs(const TableRows &x, const double *coef, double bias, const std::int64_t *rows,
                 std::int64_t n, double *out) {
    for (std::int64_t first = 0; first < n; first += kLanes) {
        const std::int64_t count = n - first < kLanes ? n - first : kLanes;
        double sum[kLanes] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (x.pointers) {
            for (std::int64_t l = 0; l < count; ++l) {
                Lanes f = all(0.0);
                const std::int64_t row = rows[first + l];
                for (std::int64_t t = x.pointers[row]; t < x.pointers[row + 1]; ++t)
                    f = fma(all(x.values[t]), all(coef[x.columns[t]]), f);
                sum[l] = pick(f, 0);
            }
        } else {
            const double *row[kLanes];
            for (std::int64_t l = 0; l < kLanes; ++l)
                row[l] = x.values + rows[first + (l < count ? l : 0)] * x.n_columns;
            Lanes f = all(0.0);
            for (std::int64_t k = 0; k < x.n_columns; ++k) {
                double eight[kLanes];
                for (int l = 0; l < kLanes; ++l) eight[l] = row[l][k];
                f = fma(load(eight), all(coef[k]), f);
            }
            store(sum, f);
        }
        for (std::int64_t l = 0; l < count; ++l) out[first + l] = sum[l] + bias;
    }
}

void distances(const TableRows &x, const double *panels, std::int64_t n_rows, std::int64_t row,
               double *out) {
    if (x.pointers) {
        for (std::int64_t j = 0; j < n_rows; ++j) out[j] = sparse_distance(x, row, j);
        return;
    }
    const double *mine = x.values + row * x.n_columns;
    for (std::int64_t j = 0; j < n_rows; j += kLanes) {
        double eight[kLanes];
        store(eight, panel_distances(mine, panels + j * x.n_columns, x.n_columns));
        for (std::int64_t l = 0; l < kLanes && j + l < n_rows; ++l) out[j + l] = eight[l];
    }
}

double side_of(const TableRows &x, std::int64_t row, std::int64_t far, std::int64_t j) {
    double total = 0.0;
    if (!x.pointers) {
        const double *a = x.values + row * x.n_columns, *b = x.values + far * x.n_columns;
        const double *c = x.values + j * x.n_columns;
        for (std::int64_t k = 0; k < x.n_columns; ++k) total += (b[k] - a[k]) * (c[k] - a[k]);
        return total;
    }
    std::int64_t at[3] = {x.pointers[row], x.pointers[far], x.pointers[j]};
    const std::int64_t last[3] = {x.pointers[row + 1], x.pointers[far + 1], x.pointers[j + 1]};
    for (;;) {
        std::int32_t column = 0x7fffffff;
        for (int s = 0; s < 3; ++s)
            if (at[s] < last[s] && x.columns[at[s]] < column) column = x.columns[at[s]];
        if (column == 0x7fffffff) return total;
        double v[3] = {0.0, 0.0, 0.0};
        for (int s = 0; s < 3; ++s)
            if (at[s] < last[s] && x.columns[at[s]] == column) v[s] = x.values[at[s]++];
        total += (v[1] - v[0]) * (v[2] - v[0]);
    }
}

}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
