// Many small hinge problems: what the bindings (batch.cpp) and the vector code (batch_simd.cpp,
// once per instruction set) tell each other. Plain data, no templates of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shiftlearn {

enum class BatchKernel { linear = 0, rbf = 1, poly = 2, sigmoid = 3, precomputed = 4, shared = 5 };

// Row-major dense values, or CSR with sorted columns (pointers not null).
struct BatchRows {
    const void *values = nullptr;
    const void *columns = nullptr;
    const std::int64_t *pointers = nullptr;
    bool single = false;  // values are float32
    bool wide = false;    // columns are int64
    std::int64_t n_columns = 0;
};

// Memory of one worker, kept from problem to problem.
class Scratch {
public:
    enum Slot { gram, state, panels, norms, marks, places, n_slots };
    ~Scratch();
    // At least `count` doubles (or ints) at a 64-byte boundary; the content is undefined.
    double *doubles(Slot slot, std::size_t count);
    // The same, all -1 when first given out; whoever writes there puts the -1 back.
    std::int32_t *marked(std::size_t count);
    std::int32_t *ints(Slot slot, std::size_t count);

private:
    void *bytes(Slot slot, std::size_t count);
    void *raw_[n_slots] = {};
    std::size_t size_[n_slots] = {};
};

struct Batch {
    BatchRows x;
    BatchKernel kernel = BatchKernel::linear;
    double gamma = 1.0, degree = 3.0, coef0 = 0.0;
    const double *shared_gram = nullptr;  // padded: stride and rows are multiples of 8
    std::int64_t shared_stride = 0;

    std::int64_t n_problems = 0;
    const std::int64_t *starts = nullptr;  // problem b owns entries starts[b]..starts[b+1]
    const std::int64_t *rows = nullptr;
    const double *signs = nullptr, *upper = nullptr, *linear = nullptr;
    const double *first = nullptr;  // alpha to start from, or null
    double tol = 1e-3;
    std::int64_t max_iter = 0;
    bool intercept = true;

    double *alpha = nullptr;
    double *bias = nullptr, *objective = nullptr, *violation = nullptr, *gap = nullptr;
    std::int64_t *n_iter = nullptr;
    double *coef = nullptr;  // n_problems x n_columns, or null

    // Asked now and then; true ends the work.
    bool (*stop)(void *) = nullptr;
    void *stop_context = nullptr;
};

typedef void (*SolveProblem)(const Batch &batch, std::int64_t problem, Scratch &scratch);

namespace isa_portable {
void solve_problem(const Batch &, std::int64_t, Scratch &);
}
namespace isa_avx2 {
void solve_problem(const Batch &, std::int64_t, Scratch &);
}
namespace isa_avx512 {
void solve_problem(const Batch &, std::int64_t, Scratch &);
}

}  // namespace shiftlearn
