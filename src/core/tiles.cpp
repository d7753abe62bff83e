// Tiles of kernel values: products of packed panels in registers, the kernel function applied
// before anything is written. See tiles.h for the layout.
#include "tiles.h"

#include "simd.h"

namespace shiftlearn {
namespace {

#if defined(__AVX512F__)
constexpr int kRowsOfTile = 8, kVectors = 3;
#elif defined(__AVX2__)
constexpr int kRowsOfTile = 4, kVectors = 3;
#else
constexpr int kRowsOfTile = 4, kVectors = 2;
#endif

template <class T>
constexpr int lanes = kVectors * width<T>;

static_assert(lanes<float> % kRowsOfTile == 0 && lanes<double> % kRowsOfTile == 0,
              "a panel is cut into whole tiles");

template <class T>
struct Constants {
    Vec<T> gamma, coef0;
    int degree;
    explicit Constants(const KernelParameters &p)
        : gamma(broadcast<T>(T(p.gamma))), coef0(broadcast<T>(T(p.coef0))), degree(p.degree) {}
};

// From the accumulated product (or distance) to the kernel value.
template <class T, int Kind>
SHIFTLEARN_INLINE Vec<T> finish(Vec<T> s, Vec<T> aux_sum, const Constants<T> &c) {
    if (Kind == kRbf) {
        const Vec<T> squared = aux_sum - (s + s);
        return exponential(lower<T>(broadcast<T>(0), broadcast<T>(0) - c.gamma * squared));
    }
    if (Kind == kLaplacian) return exponential(broadcast<T>(0) - c.gamma * s);
    if (Kind == kPoly) {
        const Vec<T> base = c.gamma * s + c.coef0;
        Vec<T> value = broadcast<T>(1);
        for (int k = 0; k < c.degree; ++k) value = value * base;
        return value;
    }
    if (Kind == kSigmoid) {
        const Vec<T> twice = c.gamma * s + c.coef0;
        const Vec<T> e = exponential(twice + twice);
        return broadcast<T>(1) - broadcast<T>(2) / (e + broadcast<T>(1));
    }
    return s;
}

template <class T>
struct Tile {
    Vec<T> value[kRowsOfTile][kVectors];
};

// One tile: rows a_0.. (broadcast, `a` points at the first of them in its panel) x panel b.
template <class T, int Kind>
SHIFTLEARN_INLINE void compute(const T *a, const T *a_aux, const T *b, const T *b_aux, long d,
                               const Constants<T> &constants, Tile<T> &tile) {
    SHIFTLEARN_UNROLL
    for (int i = 0; i < kRowsOfTile; ++i) {
        SHIFTLEARN_UNROLL
        for (int v = 0; v < kVectors; ++v) tile.value[i][v] = broadcast<T>(0);
    }
    for (long k = 0; k < d; ++k, a += lanes<T>, b += lanes<T>) {
        Vec<T> right[kVectors];
        SHIFTLEARN_UNROLL
        for (int v = 0; v < kVectors; ++v) right[v] = load<T>(b + v * width<T>);
        SHIFTLEARN_UNROLL
        for (int i = 0; i < kRowsOfTile; ++i) {
            const Vec<T> left = broadcast<T>(a[i]);
            SHIFTLEARN_UNROLL
            for (int v = 0; v < kVectors; ++v) {
                if (Kind == kLaplacian)
                    tile.value[i][v] = tile.value[i][v] + magnitude<T>(left - right[v]);
                else
                    tile.value[i][v] = tile.value[i][v] + left * right[v];
            }
        }
    }
    SHIFTLEARN_UNROLL
    for (int i = 0; i < kRowsOfTile; ++i) {
        const Vec<T> left = broadcast<T>(a_aux[i]);
        SHIFTLEARN_UNROLL
        for (int v = 0; v < kVectors; ++v)
            tile.value[i][v] =
                finish<T, Kind>(tile.value[i][v], left + load<T>(b_aux + v * width<T>), constants);
    }
}

template <class T, int Kind>
void block_of(const KernelParameters &parameters, const T *a, const T *a_aux, long m, const T *b,
              const T *b_aux, long n, long d, long first, long last, T *out, long stride) {
    const Constants<T> constants(parameters);
    const long panel_size = d * lanes<T>;
    Tile<T> tile;
    for (long p = first; p < last; ++p) {
        const long j0 = p * lanes<T>, columns = n - j0 < lanes<T> ? n - j0 : lanes<T>;
        for (long i0 = 0; i0 < m; i0 += kRowsOfTile) {
            const long panel = i0 / lanes<T>, inside = i0 % lanes<T>;
            compute<T, Kind>(a + panel * panel_size + inside, a_aux + i0, b + p * panel_size,
                             b_aux + j0, d, constants, tile);
            const long rows = m - i0 < kRowsOfTile ? m - i0 : kRowsOfTile;
            for (long i = 0; i < rows; ++i) {
                T *to = out + (i0 + i) * stride + j0;
                if (columns == lanes<T>)
                    for (int v = 0; v < kVectors; ++v) store<T>(to + v * width<T>, tile.value[i][v]);
                else
                    std::memcpy(to, &tile.value[i], std::size_t(columns) * sizeof(T));
            }
        }
    }
}

SHIFTLEARN_INLINE void add_to(double *out, const float *values, long n) {
    for (long j = 0; j < n; ++j) out[j] += double(values[j]);
}
SHIFTLEARN_INLINE void add_to(double *out, const double *values, long n) {
    for (long j = 0; j < n; ++j) out[j] += values[j];
}

template <class T, int Kind>
void apply_of(const KernelParameters &parameters, const T *a, const T *a_aux, long m,
              const double *coef, long columns, const T *b, const T *b_aux, long n, long d,
              long first, long last, double *out) {
    const Constants<T> constants(parameters);
    const long panel_size = d * lanes<T>;
    Tile<T> tile;
    for (long p = first; p < last; ++p) {
        const long j0 = p * lanes<T>, width_here = n - j0 < lanes<T> ? n - j0 : lanes<T>;
        for (long i0 = 0; i0 < m; i0 += kRowsOfTile) {
            const long panel = i0 / lanes<T>, inside = i0 % lanes<T>;
            compute<T, Kind>(a + panel * panel_size + inside, a_aux + i0, b + p * panel_size,
                             b_aux + j0, d, constants, tile);
            const long rows = m - i0 < kRowsOfTile ? m - i0 : kRowsOfTile;
            for (long c = 0; c < columns; ++c) {
                Vec<T> sum[kVectors];
                for (int v = 0; v < kVectors; ++v) sum[v] = broadcast<T>(0);
                for (long i = 0; i < rows; ++i) {
                    const Vec<T> w = broadcast<T>(T(coef[(i0 + i) * columns + c]));
                    SHIFTLEARN_UNROLL
                    for (int v = 0; v < kVectors; ++v) sum[v] = sum[v] + w * tile.value[i][v];
                }
                add_to(out + c * n + j0, reinterpret_cast<const T *>(sum), width_here);
            }
        }
    }
}

template <class T>
void block(const KernelParameters &p, const T *a, const T *a_aux, long m, const T *b, const T *b_aux,
           long n, long d, long first, long last, T *out, long stride) {
    switch (p.kind) {
        case kRbf: return block_of<T, kRbf>(p, a, a_aux, m, b, b_aux, n, d, first, last, out, stride);
        case kPoly: return block_of<T, kPoly>(p, a, a_aux, m, b, b_aux, n, d, first, last, out, stride);
        case kSigmoid:
            return block_of<T, kSigmoid>(p, a, a_aux, m, b, b_aux, n, d, first, last, out, stride);
        case kLaplacian:
            return block_of<T, kLaplacian>(p, a, a_aux, m, b, b_aux, n, d, first, last, out, stride);
        default: return block_of<T, kLinear>(p, a, a_aux, m, b, b_aux, n, d, first, last, out, stride);
    }
}

template <class T>
void apply(const KernelParameters &p, const T *a, const T *a_aux, long m, const double *coef,
           long columns, const T *b, const T *b_aux, long n, long d, long first, long last,
           double *out) {
    switch (p.kind) {
        case kRbf:
            return apply_of<T, kRbf>(p, a, a_aux, m, coef, columns, b, b_aux, n, d, first, last, out);
        case kPoly:
            return apply_of<T, kPoly>(p, a, a_aux, m, coef, columns, b, b_aux, n, d, first, last, out);
        case kSigmoid:
            return apply_of<T, kSigmoid>(p, a, a_aux, m, coef, columns, b, b_aux, n, d, first, last, out);
        case kLaplacian:
            return apply_of<T, kLaplacian>(p, a, a_aux, m, coef, columns, b, b_aux, n, d, first, last,
                                           out);
        default:
            return apply_of<T, kLinear>(p, a, a_aux, m, coef, columns, b, b_aux, n, d, first, last, out);
    }
}

// Sparse: one row of b against a whole panel; work is proportional to the non-zeros of b.
template <class T, int Kind>
void sparse_values_of(const KernelParameters &parameters, const T *panel, const T *panel_aux,
                      const std::int32_t *slot, const std::int64_t *indptr,
                      const std::int32_t *indices, const T *data, const T *aux, long first, long last,
                      T *values) {
    const Constants<T> constants(parameters);
    for (long j = first; j < last; ++j) {
        Vec<T> sum[kVectors];
        for (int v = 0; v < kVectors; ++v) sum[v] = broadcast<T>(0);
        for (std::int64_t k = indptr[j]; k < indptr[j + 1]; ++k) {
            const T *row = panel + std::ptrdiff_t(slot[indices[k]]) * lanes<T>;
            const Vec<T> x = broadcast<T>(data[k]);
            SHIFTLEARN_UNROLL
            for (int v = 0; v < kVectors; ++v) {
                const Vec<T> z = load<T>(row + v * width<T>);
                if (Kind == kLaplacian)  // |x - z| where both occur; |x|, |z| come with aux
                    sum[v] = sum[v] + (magnitude<T>(x - z) - magnitude<T>(x) - magnitude<T>(z));
                else
                    sum[v] = sum[v] + x * z;
            }
        }
        const Vec<T> own = broadcast<T>(aux[j]);
        T *to = values + (j - first) * lanes<T>;
        for (int v = 0; v < kVectors; ++v) {
            const Vec<T> both = own + load<T>(panel_aux + v * width<T>);
            if (Kind == kLaplacian) sum[v] = sum[v] + both;
            store<T>(to + v * width<T>, finish<T, Kind>(sum[v], both, constants));
        }
    }
}

template <class T>
void sparse_values(const KernelParameters &p, const T *panel, const T *panel_aux,
                   const std::int32_t *slot, const std::int64_t *indptr, const std::int32_t *indices,
                   const T *data, const T *aux, long first, long last, T *values) {
    switch (p.kind) {
        case kRbf:
            return sparse_values_of<T, kRbf>(p, panel, panel_aux, slot, indptr, indices, data, aux,
                                             first, last, values);
        case kPoly:
            return sparse_values_of<T, kPoly>(p, panel, panel_aux, slot, indptr, indices, data, aux,
                                              first, last, values);
        case kSigmoid:
            return sparse_values_of<T, kSigmoid>(p, panel, panel_aux, slot, indptr, indices, data, aux,
                                                 first, last, values);
        case kLaplacian:
            return sparse_values_of<T, kLaplacian>(p, panel, panel_aux, slot, indptr, indices, data,
                                                   aux, first, last, values);
        default:
            return sparse_values_of<T, kLinear>(p, panel, panel_aux, slot, indptr, indices, data, aux,
                                                first, last, values);
    }
}

}  // namespace

namespace SHIFTLEARN_ISA_NAMESPACE {
extern const TileTable tiles;
const TileTable tiles = {{block<float>, apply<float>, lanes<float>},
                         {block<double>, apply<double>, lanes<double>},
                         {sparse_values<float>},
                         {sparse_values<double>}};
}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
