// The loops over rows: products, sums, second moments and dual coordinate descent. Compiled once
// per instruction set. Sums run in a fixed order, so that an answer never depends on threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "linear.h"
#include "simd.h"

namespace shiftlearn {
namespace SHIFTLEARN_ISA_NAMESPACE {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SHIFTLEARN_INLINE void prefetch(const void *where) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(where);
#else
    (void)where;
#endif
}

template <class T>
struct DenseRows {
    const T *values;
    long d;

    explicit DenseRows(const RowsView &v) : values(static_cast<const T *>(v.values)), d(v.d) {}
    long size(long) const { return d; }
    void touch(long i) const { prefetch(values + i * d); }

    double dot(long i, const double *w) const {
        const T *x = values + i * d;
        constexpr long W = width<double>;
        Vec<double> first = broadcast<double>(0), second = first;
        long k = 0;
        for (; k + 2 * W <= d; k += 2 * W) {
            first = first + load_double(x + k) * load<double>(w + k);
            second = second + load_double(x + k + W) * load<double>(w + k + W);
        }
        first = first + second;
        double sum = 0;
        for (; k < d; ++k) sum += double(x[k]) * w[k];
        for (long l = 0; l < W; ++l) sum += first[int(l)];
        return sum;
    }
    void add(long i, double c, double *w) const {
        const T *x = values + i * d;
        for (long k = 0; k < d; ++k) w[k] += c * double(x[k]);
    }
    double norm(long i) const {
        const T *x = values + i * d;
        double sum = 0;
        for (long k = 0; k < d; ++k) sum += double(x[k]) * double(x[k]);
        return sum;
    }
    void clear(long, double *w) const { std::fill(w, w + d, 0.0); }
};

template <class T, class I>
struct SparseRows {
    const T *values;
    const I *indices, *starts;

    explicit SparseRows(const RowsView &v)
        : values(static_cast<const T *>(v.values)),
          indices(static_cast<const I *>(v.indices)),
          starts(static_cast<const I *>(v.starts)) {}
    long size(long i) const { return long(starts[i + 1] - starts[i]); }
    void touch(long i) const {
        const long lo = long(starts[i]), hi = long(starts[i + 1]);
        for (long k = lo; k < hi; k += 64 / long(sizeof(T))) prefetch(values + k);
        for (long k = lo; k < hi; k += 64 / long(sizeof(I))) prefetch(indices + k);
    }
    double dot(long i, const double *w) const {
        const long hi = long(starts[i + 1]);
        long k = long(starts[i]);
        double part[4] = {0, 0, 0, 0};  // four sums in flight: the additions do not wait
        for (; k + 4 <= hi; k += 4)
            for (long l = 0; l < 4; ++l) part[l] += double(values[k + l]) * w[indices[k + l]];
        double sum = 0;
        for (; k < hi; ++k) sum += double(values[k]) * w[indices[k]];
        return sum + ((part[0] + part[1]) + (part[2] + part[3]));
    }
    void add(long i, double c, double *w) const {
        for (long k = long(starts[i]), hi = long(starts[i + 1]); k < hi; ++k)
            w[indices[k]] += c * double(values[k]);
    }
    double norm(long i) const {
        double sum = 0;
        for (long k = long(starts[i]), hi = long(starts[i + 1]); k < hi; ++k)
            sum += double(values[k]) * double(values[k]);
        return sum;
    }
    void clear(long i, double *w) const {
        for (long k = long(starts[i]), hi = long(starts[i + 1]); k < hi; ++k) w[indices[k]] = 0;
    }
};

template <class Body>
void visit(const RowsView &v, const Body &body) {
    if (!v.indices) {
        if (v.wide_values) return body(DenseRows<double>(v));
        return body(DenseRows<float>(v));
    }
    if (v.wide_values) {
        if (v.wide_indices) return body(SparseRows<double, std::int64_t>(v));
        return body(SparseRows<double, std::int32_t>(v));
    }
    if (v.wide_indices) return body(SparseRows<float, std::int64_t>(v));
    return body(SparseRows<float, std::int32_t>(v));
}

void norms(const RowsView &v, double *out, long lo, long hi) {
    visit(v, [&](const auto &rows) {
        for (long i = lo; i < hi; ++i) out[i] = rows.norm(i);
    });
}

void products(const RowsView &v, const double *w, double *out, long lo, long hi) {
    visit(v, [&](const auto &rows) {
        for (long i = lo; i < hi; ++i) out[i] = rows.dot(i, w);
    });
}

void combine(const RowsView &v, const double *c, double *out, long lo, long hi) {
    visit(v, [&](const auto &rows) {
        for (long i = lo; i < hi; ++i)
            if (c[i] != 0) rows.add(i, c[i], out);
    });
}

void row_products(const RowsView &v, long i, const std::int64_t *chosen, long count,
                  double *scratch, double *out) {
    visit(v, [&](const auto &rows) {
        rows.add(i, 1.0, scratch);
        for (long k = 0; k < count; ++k) out[k] = rows.dot(chosen[k], scratch);
        rows.clear(i, scratch);
    });
}

constexpr long kRows = 6, kColumns = 2;  // of vectors: the tile of sums stays in registers

// Lower half of  out += B'B  for a block B of `count` rows; rows of `stride` zero-padded numbers.
void add_block(const double *block, long count, long stride, long d, double *out) {
    constexpr long W = width<double>, kWide = kColumns * W;
    for (long i0 = 0; i0 < d; i0 += kRows) {
        for (long j0 = 0; j0 < std::min(i0 + kRows, d); j0 += kWide) {
            Vec<double> tile[kRows][kColumns];
            for (auto &line : tile)
                for (auto &sums : line) sums = broadcast<double>(0);
            for (long k = 0; k < count; ++k) {
                const double *row = block + k * stride;
                const Vec<double> left = load<double>(row + j0), right = load<double>(row + j0 + W);
                SHIFTLEARN_UNROLL
                for (long a = 0; a < kRows; ++a) {
                    const Vec<double> x = broadcast<double>(row[i0 + a]);
                    tile[a][0] = tile[a][0] + x * left;
                    tile[a][1] = tile[a][1] + x * right;
                }
            }
            for (long a = 0; a < kRows && i0 + a < d; ++a)
                for (long l = 0; l < kWide && j0 + l <= i0 + a; ++l)
                    out[(i0 + a) * d + j0 + l] += tile[a][l / W][int(l % W)];
        }
    }
}

void gram(const RowsView &v, const std::int64_t *chosen, const double *t, long lo, long hi,
          double *out) {
    constexpr long kBlock = 64, kPadding = 2 * kColumns * width<double>;
    const long stride = v.d + kPadding;
    std::vector<double> block(std::size_t(kBlock * stride), 0.0);
    visit(v, [&](const auto &rows) {
        for (long first = lo; first < hi; first += kBlock) {
            const long count = std::min(kBlock, hi - first);
            std::fill(block.begin(), block.end(), 0.0);
            for (long k = 0; k < count; ++k)
                rows.add(long(chosen[first + k]), std::sqrt(t[first + k]), &block[k * stride]);
            add_block(block.data(), count, stride, v.d, out);
        }
    });
}

std::uint64_t next_random(std::uint64_t &state) {  // splitmix64
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

void shuffle(DescentState &s) {
    for (long k = s.active - 1; k > 0; --k) {
        const auto j = long(next_random(s.random) % std::uint64_t(k + 1));
        std::swap(s.order[k], s.order[j]);
    }
}

void begin_sweep(DescentState &s) {
    s.highest = -kInfinity;
    s.lowest = kInfinity;
    s.position = 0;
    shuffle(s);
}

void restore_all_rows(DescentState &s) {
    s.active = s.eligible;
    s.shrink_above = kInfinity;
    s.shrink_below = -kInfinity;
}

// The multiplier of the group moves once the rows have settled for the present one.
void end_settled_sweep(DescentState &s, double largest) {
    if (s.active < s.eligible) return restore_all_rows(s);
    const double residual = s.sum - s.total, step = s.penalty * residual;
    s.violation = std::max(s.violation, std::fabs(step));
    if (!s.grouped || std::fabs(residual) * (s.penalty + largest) <= s.tol) {
        s.done = s.violation <= s.tol;
        s.inner_tol = s.tol;
        if (s.done) return;
    }
    s.beta -= step;
    s.inner_tol = std::max(s.tol, 0.1 * std::fabs(step));
    restore_all_rows(s);
}

void end_sweep(DescentState &s, double largest) {
    ++s.sweeps;
    s.violation = std::max({s.highest, -s.lowest, 0.0});
    if (s.violation <= s.inner_tol) {
        end_settled_sweep(s, largest);
    } else {
        s.shrink_above = s.highest <= 0 ? kInfinity : s.highest;
        s.shrink_below = s.lowest >= 0 ? -kInfinity : s.lowest;
    }
    s.position = -1;
}

// One step along coordinate i. Returns false where the row can be left out for now.
template <class Rows>
SHIFTLEARN_INLINE bool step(const Rows &rows, DescentState &s, long i) {
    const double sign = s.signs[i], a = s.alpha[i], most = s.upper[i];
    const double ridge = s.diagonal ? s.diagonal[i] : 0.0;
    const double g = sign * (rows.dot(i, s.w) - s.beta) + s.linear[i] + ridge * a;
    double projected = g;
    if (a <= 0) {
        if (g > s.shrink_above) return false;
        projected = std::min(g, 0.0);
    } else if (a >= most) {
        if (g < s.shrink_below) return false;
        projected = std::max(g, 0.0);
    }
    s.highest = std::max(s.highest, projected);
    s.lowest = std::min(s.lowest, projected);
    if (projected == 0) return true;
    const double curvature = s.norms[i] + s.penalty + ridge;
    double moved = projected > 0 ? 0.0 : most;  // a zero row goes to its bound at once
    if (curvature > 0) moved = std::min(std::max(a - g / curvature, 0.0), most);
    const double change = sign * (moved - a);
    if (change == 0) return true;
    s.alpha[i] = moved;
    s.sum += change;
    s.beta -= s.penalty * change;
    rows.add(i, change, s.w);
    return true;
}

void descend(const RowsView &v, DescentState &s, double work) {
    double largest = 0;
    for (long k = 0; k < s.eligible; ++k) largest = std::max(largest, s.norms[s.order[k]]);
    visit(v, [&](const auto &rows) {
        while (work > 0 && !s.done) {
            if (s.position < 0) begin_sweep(s);
            while (s.position < s.active && work > 0) {
                const auto i = long(s.order[s.position]);
                if (s.position + 2 < s.active) rows.touch(long(s.order[s.position + 2]));
                work -= double(rows.size(i)) + 8;
                if (step(rows, s, i))
                    ++s.position;
                else
                    std::swap(s.order[s.position], s.order[--s.active]);
            }
            if (s.position >= s.active) end_sweep(s, largest);
        }
    });
}

const LinearKernels table = {norms, products, combine, gram, row_products, descend};

}  // namespace

const LinearKernels &linear_kernels() { return table; }

}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
