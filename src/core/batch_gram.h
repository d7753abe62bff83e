// The Gram matrix of the few rows of one problem, in float64.
//
// Every entry is one sum over the columns in ascending order with fused products. A zero adds
// nothing to such a sum, so dense and sparse rows give the same bits, and an entry never depends on
// which other rows the problem has.
#pragma once

#include <math.h>

#include "batch.h"
#include "lanes.h"

namespace shiftlearn {
namespace SHIFTLEARN_ISA_NAMESPACE {
namespace {

constexpr std::int64_t kColumnBlock = 256;  // columns packed at a time: panels stay in cache

#if defined(__AVX512F__)
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 4;
#endif

std::int64_t padded(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Eight rows side by side: panel[k * 8 + lane] = X[rows[lane], from + k].
template <class Value>
void pack(const Value *x, std::int64_t n_columns, const std::int64_t *rows, std::int64_t n_rows,
          std::int64_t from, std::int64_t count, double *panel) {
    for (int lane = 0; lane < kLanes; ++lane) {
        if (lane < n_rows) {
            const Value *row = x + rows[lane] * n_columns + from;
            for (std::int64_t k = 0; k < count; ++k) panel[k * kLanes + lane] = row[k];
        } else {
            for (std::int64_t k = 0; k < count; ++k) panel[k * kLanes + lane] = 0.0;
        }
    }
}

// gram[r, 0..7] += sum_k a[k, r] * b[k, 0..7] for the eight rows r of panel a.
void add_tile(const double *a, const double *b, std::int64_t count, double *gram,
              std::int64_t stride) {
    for (int first = 0; first < kLanes; first += kTileRows) {
        Lanes sum[kTileRows];
        for (int r = 0; r < kTileRows; ++r) sum[r] = load(gram + (first + r) * stride);
        for (std::int64_t k = 0; k < count; ++k) {
            const Lanes right = load(b + k * kLanes);
            for (int r = 0; r < kTileRows; ++r)
                sum[r] = fma(all(a[k * kLanes + first + r]), right, sum[r]);
        }
        for (int r = 0; r < kTileRows; ++r) store(gram + (first + r) * stride, sum[r]);
    }
}

void clear(double *p, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) p[i] = 0.0;
}

// Products of all rows in the tiles on and right of the diagonal.
template <class Value>
void dense_products(const Batch &batch, const std::int64_t *rows, std::int64_t n, double *gram,
                    Scratch &scratch) {
    const std::int64_t size = padded(n), d = batch.x.n_columns;
    const std::int64_t block = d < kColumnBlock ? d : kColumnBlock;
    double *panels = scratch.doubles(Scratch::panels, static_cast<std::size_t>(size * block));
    const Value *x = static_cast<const Value *>(batch.x.values);
    clear(gram, size * size);
    for (std::int64_t from = 0; from < d; from += block) {
        const std::int64_t count = d - from < block ? d - from : block;
        for (std::int64_t i = 0; i < size; i += kLanes)
            pack(x, d, rows + i, n - i, from, count, panels + i * count);
        for (std::int64_t i = 0; i < size; i += kLanes)
            for (std::int64_t j = i; j < size; j += kLanes)
                add_tile(panels + i * count, panels + j * count, count, gram + i * size + j, size);
    }
}

// The columns that occur in the problem get places 0, 1, ... in order of appearance; a panel holds
// eight rows over these places, and every row walks its own non-zeros in column order.
template <class Value, class Column>
void sparse_products(const Batch &batch, const std::int64_t *rows, std::int64_t n, double *gram,
                     Scratch &scratch) {
    const std::int64_t size = padded(n);
    const Value *values = static_cast<const Value *>(batch.x.values);
    const Column *columns = static_cast<const Column *>(batch.x.columns);
    const std::int64_t *at = batch.x.pointers;
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += at[rows[i] + 1] - at[rows[i]];
    std::int32_t *mark = scratch.marked(static_cast<std::size_t>(batch.x.n_columns));
    std::int32_t *place = scratch.ints(Scratch::places, static_cast<std::size_t>(total + 1));
    std::int32_t n_places = 0;
    std::int64_t t = 0;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = at[rows[i]]; k < at[rows[i] + 1]; ++k) {
            std::int32_t &m = mark[columns[k]];
            if (m < 0) m = n_places++;
            place[t++] = m;
        }
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = at[rows[i]]; k < at[rows[i] + 1]; ++k) mark[columns[k]] = -1;

    double *panel = scratch.doubles(Scratch::panels, static_cast<std::size_t>(n_places + 1) * kLanes);
    clear(gram, size * size);
    clear(panel, static_cast<std::int64_t>(n_places) * kLanes);
    std::int64_t before = 0;  // non-zeros of the rows left of this panel
    for (std::int64_t j = 0; j < n; j += kLanes) {
        const std::int64_t last = j + kLanes < n ? j + kLanes : n;
        t = before;
        for (std::int64_t i = j; i < last; ++i)
            for (std::int64_t k = at[rows[i]]; k < at[rows[i] + 1]; ++k)
                panel[static_cast<std::int64_t>(place[t++]) * kLanes + (i - j)] = values[k];
        const std::int64_t after = t;
        t = 0;
        for (std::int64_t i = 0; i < last; ++i) {
            Lanes sum = all(0.0);
            for (std::int64_t k = at[rows[i]]; k < at[rows[i] + 1]; ++k)
                sum = fma(all(values[k]), load(panel + static_cast<std::int64_t>(place[t++]) * kLanes), sum);
            store(gram + i * size + j, sum);
        }
        for (t = before; t < after; ++t)
            store(panel + static_cast<std::int64_t>(place[t]) * kLanes, all(0.0));
        before = after;
    }
}

template <class Value>
void gather(const Batch &batch, const std::int64_t *rows, std::int64_t n, double *gram) {
    const std::int64_t size = padded(n);
    const Value *k = static_cast<const Value *>(batch.x.values);
    clear(gram, size * size);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            gram[i * size + j] = k[rows[i] * batch.x.n_columns + rows[j]];
}

// Inner products of eight columns become kernel values.
void apply_kernel(const Batch &batch, double norm, const double *norms, double *entries) {
    if (batch.kernel == BatchKernel::rbf) {
        const Lanes cross = load(entries) * all(-2.0);
        const Lanes squared = larger((all(norm) + load(norms)) + cross, all(0.0));
        store(entries, exp_of_negative(squared * all(-batch.gamma)));
    } else if (batch.kernel == BatchKernel::poly) {
        for (int l = 0; l < kLanes; ++l)
            entries[l] = pow(batch.gamma * entries[l] + batch.coef0, batch.degree);
    } else if (batch.kernel == BatchKernel::sigmoid) {
        for (int l = 0; l < kLanes; ++l) entries[l] = tanh(batch.gamma * entries[l] + batch.coef0);
    }
}

// Kernel values in the upper tiles, then the mirror image below.
void finish_gram(const Batch &batch, std::int64_t n, double *gram, Scratch &scratch) {
    const std::int64_t size = padded(n);
    if (batch.kernel != BatchKernel::linear) {
        double *norms = scratch.doubles(Scratch::norms, static_cast<std::size_t>(size));
        for (std::int64_t i = 0; i < size; ++i) norms[i] = gram[i * size + i];
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = i / kLanes * kLanes; j < size; j += kLanes)
                apply_kernel(batch, norms[i], norms + j, gram + i * size + j);
    }
    for (std::int64_t i = kLanes; i < size; ++i)
        for (std::int64_t j = 0; j < i / kLanes * kLanes; ++j) gram[i * size + j] = gram[j * size + i];
}

template <class Value>
void products(const Batch &batch, const std::int64_t *rows, std::int64_t n, double *gram,
              Scratch &scratch) {
    if (!batch.x.pointers) {
        dense_products<Value>(batch, rows, n, gram, scratch);
    } else if (batch.x.wide) {
        sparse_products<Value, std::int64_t>(batch, rows, n, gram, scratch);
    } else {
        sparse_products<Value, std::int32_t>(batch, rows, n, gram, scratch);
    }
}

// K over the rows of one problem; rows and columns padded to multiples of 8.
const double *gram_of(const Batch &batch, const std::int64_t *rows, std::int64_t n, Scratch &scratch) {
    if (batch.kernel == BatchKernel::shared) return batch.shared_gram;
    double *gram = scratch.doubles(Scratch::gram, static_cast<std::size_t>(padded(n) * padded(n)));
    if (batch.kernel == BatchKernel::precomputed) {
        if (batch.x.single) gather<float>(batch, rows, n, gram);
        else gather<double>(batch, rows, n, gram);
        return gram;
    }
    if (batch.x.single) products<float>(batch, rows, n, gram, scratch);
    else products<double>(batch, rows, n, gram, scratch);
    finish_gram(batch, n, gram, scratch);
    return gram;
}

// w = sum_j beta_j x_j, rows in order, zeros skipped.
template <class Value, class Column>
void add_row(const BatchRows &x, std::int64_t row, double factor, double *w) {
    const Value *values = static_cast<const Value *>(x.values);
    if (!x.pointers) {
        values += row * x.n_columns;
        std::int64_t k = 0;
        for (; k + kLanes <= x.n_columns; k += kLanes) {
            double eight[kLanes];
            for (int l = 0; l < kLanes; ++l) eight[l] = values[k + l];
            store(w + k, fma(all(factor), load(eight), load(w + k)));
        }
        for (; k < x.n_columns; ++k) w[k] = pick(fma(all(factor), all(values[k]), all(w[k])), 0);
        return;
    }
    const Column *columns = static_cast<const Column *>(x.columns);
    for (std::int64_t k = x.pointers[row]; k < x.pointers[row + 1]; ++k) {
        double &entry = w[columns[k]];
        entry = pick(fma(all(factor), all(values[k]), all(entry)), 0);
    }
}

void add_row(const BatchRows &x, std::int64_t row, double factor, double *w) {
    if (x.single && x.wide) add_row<float, std::int64_t>(x, row, factor, w);
    else if (x.single) add_row<float, std::int32_t>(x, row, factor, w);
    else if (x.wide) add_row<double, std::int64_t>(x, row, factor, w);
    else add_row<double, std::int32_t>(x, row, factor, w);
}

}  // namespace
}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
