// The quadratic program on a working set small enough that its matrix is at hand:
//
//     min_u  ½ uᵀKu + cᵀu    s.t.  lower <= u <= upper,   sum of u constant within each group
//
// given u, its gradient g = Ku + c, and K (q×q). Variables are ordered by group; those behind the
// last group are free of any sum. Pairs (or single free variables) are moved, the most violating
// first, the partner by the largest decrease, until no violation exceeds tol.
#pragma once

#include <cstdint>

namespace shiftlearn {

struct WorkingSet {
    long q, stride;               // size, and distance of two rows of the matrix
    double *u, *g;                // updated
    const double *lower, *upper;
    const std::int64_t *starts;   // group k: starts[k] .. starts[k + 1] - 1
    long n_groups;
    double tol;
    long max_steps;
    double *scratch;              // 3 * q numbers
    long steps;                   // out: moves made
    double violation;             // out: largest violation left
    bool indefinite;              // out: a curvature was negative beyond rounding
};

template <class T>
using SolveWorkingSet = void (*)(const T *matrix, WorkingSet &set);

struct WorkingSetTable {
    SolveWorkingSet<float> solve32;
    SolveWorkingSet<double> solve64;
};

namespace isa_portable { extern const WorkingSetTable working_set; }
#if defined(SHIFTLEARN_X86)
namespace isa_avx2 { extern const WorkingSetTable working_set; }
namespace isa_avx512 { extern const WorkingSetTable working_set; }
#endif

}  // namespace shiftlearn
