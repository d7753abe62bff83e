// Kernel values in tiles: the interface between the dispatcher (tiles_module.cpp) and the vector
// code (tiles.cpp, compiled once per instruction set).
//
// Rows are packed into panels of `lanes` rows, feature by feature: panel p holds, for every
// feature k, the k-th entries of rows p*lanes .. p*lanes+lanes-1 side by side (missing rows are
// zero). The same form serves both sides of a tile: one side is read as vectors, the other is
// broadcast. `aux` holds one number a row: |x|^2 (rbf), |x|_1 (laplacian on sparse rows), else 0.
#pragma once

#include <cstdint>

namespace shiftlearn {

enum KernelKind { kLinear = 0, kRbf = 1, kPoly = 2, kSigmoid = 3, kLaplacian = 4 };

struct KernelParameters {
    int kind;
    double gamma, coef0;
    int degree;  // a fractional degree is handled in Python
};

// Kernel values between m rows `a` and n rows `b` of d features. Panels first..last-1 of b.
template <class T>
struct DenseTiles {
    // out[i * stride + j] = k(a_i, b_j)
    void (*block)(const KernelParameters &, const T *a, const T *a_aux, long m, const T *b,
                  const T *b_aux, long n, long d, long first, long last, T *out, long stride);
    // out[c * n + j] += sum_i coef[i * columns + c] k(a_i, b_j)
    void (*apply)(const KernelParameters &, const T *a, const T *a_aux, long m, const double *coef,
                  long columns, const T *b, const T *b_aux, long n, long d, long first, long last,
                  double *out);
    int lanes;
};

// One panel of sparse rows against CSR rows first..last-1. `panel` holds the panel's rows in the
// dense form above, but only for the features that occur in it: slot[feature] says where, slot 0
// is a row of zeros for all others.
template <class T>
struct SparseTiles {
    // out[l * n + j - first] style access is left to the caller: values[(j - first) * lanes + l]
    void (*values)(const KernelParameters &, const T *panel, const T *panel_aux,
                   const std::int32_t *slot, const std::int64_t *indptr, const std::int32_t *indices,
                   const T *data, const T *aux, long first, long last, T *values);
};

struct TileTable {
    DenseTiles<float> dense32;
    DenseTiles<double> dense64;
    SparseTiles<float> sparse32;
    SparseTiles<double> sparse64;
};

namespace isa_portable { extern const TileTable tiles; }
#if defined(SHIFTLEARN_X86)
namespace isa_avx2 { extern const TileTable tiles; }
namespace isa_avx512 { extern const TileTable tiles; }
#endif

}  // namespace shiftlearn
