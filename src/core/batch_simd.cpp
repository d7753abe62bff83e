// Many small hinge problems, one after the other; compiled once per instruction set.
#include "batch.h"
#include "batch_gram.h"
#include "batch_smo.h"

namespace shiftlearn {
namespace SHIFTLEARN_ISA_NAMESPACE {
namespace {

template <int NV>
void solve_sized(const Batch &batch, std::int64_t problem, const double *gram, Scratch &scratch) {
    Smo<NV> smo(batch, problem, gram, scratch);
    smo.solve();
    smo.write(problem);
}

void write_coef(const Batch &batch, std::int64_t problem) {
    const std::int64_t d = batch.x.n_columns;
    double *w = batch.coef + problem * d;
    clear(w, d);
    for (std::int64_t i = batch.starts[problem]; i < batch.starts[problem + 1]; ++i) {
        const double beta = batch.signs[i] * batch.alpha[i];
        if (beta != 0.0) add_row(batch.x, batch.rows[i], beta, w);
    }
}

}  // namespace

void solve_problem(const Batch &batch, std::int64_t problem, Scratch &scratch) {
    const std::int64_t from = batch.starts[problem], n = batch.starts[problem + 1] - from;
    const double *gram = gram_of(batch, batch.rows + from, n, scratch);
    if (n <= kLanes) solve_sized<1>(batch, problem, gram, scratch);
    else if (n <= 2 * kLanes) solve_sized<2>(batch, problem, gram, scratch);
    else solve_sized<0>(batch, problem, gram, scratch);
    if (batch.coef) write_coef(batch, problem);
}

}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
