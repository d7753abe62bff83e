// Linear kernels without Gram matrices: what the bindings and the vector code share.
//
//   min_a  1/2 |w|^2 + 1/2 sum_i D_i a_i^2 + p'a,   w = sum_i s_i a_i x_i,
//   s.t.   0 <= a_i <= C_i,   and, where there is a group,   sum_i s_i a_i = r.
#pragma once

#include <cstdint>

namespace shiftlearn {

// Rows of a matrix that somebody else owns: dense in C order (indices == nullptr) or CSR.
struct RowsView {
    const void *values = nullptr;
    const void *indices = nullptr;
    const void *starts = nullptr;
    bool wide_values = true;    // float64, else float32
    bool wide_indices = false;  // int64, else int32
    long n = 0, d = 0;
};

// Everything dual coordinate descent remembers between two slices of work.
struct DescentState {
    const double *signs, *linear, *upper, *diagonal, *norms;  // diagonal may be null
    double *alpha, *w;
    std::int64_t *order;
    long eligible = 0;  // rows with C_i > 0; they come first in `order`
    long active = 0;    // of those, the rows that shrinking has left
    long position = 0;  // inside the present sweep
    long sweeps = 0;
    std::uint64_t random = 0;
    bool grouped = false;
    double total = 0, sum = 0;     // r and sum_i s_i a_i
    double penalty = 0, beta = 0;  // augmented Lagrangian: weight, multiplier in force
    double tol = 0, inner_tol = 0;
    double highest = 0, lowest = 0;            // projected gradients of the present sweep
    double shrink_above = 0, shrink_below = 0;  // those of the sweep before
    double violation = 0;
    bool done = false;
};

struct LinearKernels {
    void (*norms)(const RowsView &, double *out, long lo, long hi);
    // out[i] = <x_i, w> for lo <= i < hi
    void (*products)(const RowsView &, const double *w, double *out, long lo, long hi);
    // out += sum_i c_i x_i over lo <= i < hi; rows with c_i = 0 cost nothing
    void (*combine)(const RowsView &, const double *c, double *out, long lo, long hi);
    // out (d x d, lower half) += sum_k t_k x_i x_i' over i = rows[k], lo <= k < hi
    void (*gram)(const RowsView &, const std::int64_t *rows, const double *t, long lo, long hi,
                 double *out);
    // out[k] = <x_i, x_j> for j = rows[k], k < count; `scratch` is d zeros and stays so
    void (*row_products)(const RowsView &, long i, const std::int64_t *rows, long count,
                         double *scratch, double *out);
    // coordinate steps until `work` entries of the matrix were touched or the state is done
    void (*descend)(const RowsView &, DescentState &, double work);
};

namespace isa_portable { const LinearKernels &linear_kernels(); }
namespace isa_avx2 { const LinearKernels &linear_kernels(); }
namespace isa_avx512 { const LinearKernels &linear_kernels(); }

}  // namespace shiftlearn
