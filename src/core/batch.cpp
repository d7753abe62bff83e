// Bindings, threads and memory of the batch solver; the arithmetic is in batch_simd.cpp.
#include "batch.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cpu.h"
#include "threads.h"

namespace nb = nanobind;

namespace shiftlearn {

Scratch::~Scratch() {
    for (void *p : raw_) ::operator delete(p, std::align_val_t(64));
}

void *Scratch::bytes(Slot slot, std::size_t count) {
    if (size_[slot] < count) {
        ::operator delete(raw_[slot], std::align_val_t(64));
        raw_[slot] = nullptr;
        size_[slot] = 0;
        raw_[slot] = ::operator new(count, std::align_val_t(64));
        size_[slot] = count;
    }
    return raw_[slot];
}

double *Scratch::doubles(Slot slot, std::size_t count) {
    return static_cast<double *>(bytes(slot, (count + 8) * sizeof(double)));
}

std::int32_t *Scratch::ints(Slot slot, std::size_t count) {
    return static_cast<std::int32_t *>(bytes(slot, (count + 16) * sizeof(std::int32_t)));
}

std::int32_t *Scratch::marked(std::size_t count) {
    const std::size_t had = size_[marks];
    std::int32_t *p = ints(marks, count);
    if (size_[marks] != had)
        for (std::size_t i = 0; i < count; ++i) p[i] = -1;
    return p;
}

namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Any = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

SolveProblem solver() {
#if defined(SHIFTLEARN_X86)
    if (isa() == Isa::avx512) return isa_avx512::solve_problem;
    if (isa() == Isa::avx2) return isa_avx2::solve_problem;
#endif
    return isa_portable::solve_problem;
}

// Lets the thread that called look for Ctrl-C now and then; the others follow its word.
class Interruption {
public:
    bool asked() {
        if (!stopped_ && std::this_thread::get_id() == caller_) look();
        return stopped_;
    }
    bool stopped() const { return stopped_; }
    static bool ask(void *self) { return static_cast<Interruption *>(self)->asked(); }

private:
    using Clock = std::chrono::steady_clock;
    void look() {
        const auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        nb::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) {
            stopped_ = true;
        }
    }
    const std::thread::id caller_ = std::this_thread::get_id();
    Clock::time_point last_ = Clock::now();
    std::atomic<bool> stopped_{false};
};

// A rough number of operations, to cut the batch into tasks of some 50 microseconds and more.
double work_of(const Batch &batch, std::int64_t problem, double per_product) {
    const double n = static_cast<double>(batch.starts[problem + 1] - batch.starts[problem]);
    return 2000.0 + n * n * (100.0 + 0.5 * per_product);
}

double products_cost(const Batch &batch) {
    if (batch.kernel == BatchKernel::precomputed || batch.kernel == BatchKernel::shared) return 0.0;
    if (!batch.x.pointers) return static_cast<double>(batch.x.n_columns);
    return 200.0;
}

void run(Batch &batch, int n_threads) {
    constexpr double kTask = 5e5;
    const double per_product = products_cost(batch);
    std::vector<std::int64_t> cuts{0};
    double open = 0.0, total = 0.0;
    for (std::int64_t p = 0; p < batch.n_problems; ++p) {
        const double work = work_of(batch, p, per_product);
        open += work, total += work;
        if (open < kTask && p + 1 < batch.n_problems) continue;
        cuts.push_back(p + 1);
        open = 0.0;
    }
    if (total < 2 * kTask) n_threads = 1;
    Interruption interruption;
    batch.stop = Interruption::ask;
    batch.stop_context = &interruption;
    const SolveProblem solve = solver();
    {
        nb::gil_scoped_release released;
        std::vector<Scratch> scratch(static_cast<std::size_t>(n_threads < 1 ? 1 : n_threads));
        parallel_for(static_cast<long>(cuts.size()) - 1, n_threads, [&](long task, int worker) {
            for (std::int64_t p = cuts[task]; p < cuts[task + 1] && !interruption.stopped(); ++p)
                solve(batch, p, scratch[worker]);
            interruption.asked();
        });
    }
    if (interruption.stopped()) throw nb::python_error();
}

void solve(const Any &x, const std::optional<Any> &columns,
           const std::optional<In<std::int64_t>> &pointers, std::int64_t n_columns, int kernel,
           double gamma, double degree, double coef0, const In<std::int64_t> &starts,
           const In<std::int64_t> &rows, const In<double> &signs, const In<double> &upper,
           const In<double> &linear, const std::optional<In<double>> &first, double tol,
           std::int64_t max_iter, bool intercept, const Out<double> &alpha, const Out<double> &figures,
           const Out<std::int64_t> &n_iter, const std::optional<Out<double>> &coef, int n_threads) {
    Batch batch;
    batch.x.values = x.data();
    batch.x.single = x.dtype() == nb::dtype<float>();
    batch.x.n_columns = n_columns;
    if (columns && pointers) {
        batch.x.columns = columns->data();
        batch.x.wide = columns->dtype() == nb::dtype<std::int64_t>();
        batch.x.pointers = pointers->data();
    }
    batch.kernel = static_cast<BatchKernel>(kernel);
    batch.gamma = gamma, batch.degree = degree, batch.coef0 = coef0;
    if (batch.kernel == BatchKernel::shared) {
        if (batch.x.single || n_columns % 8) throw std::invalid_argument("shared Gram matrix: padded float64");
        batch.shared_gram = static_cast<const double *>(x.data());
        batch.shared_stride = n_columns;
    }
    batch.n_problems = static_cast<std::int64_t>(starts.size()) - 1;
    batch.starts = starts.data();
    batch.rows = rows.data();
    batch.signs = signs.data(), batch.upper = upper.data(), batch.linear = linear.data();
    if (first) batch.first = first->data();
    batch.tol = tol, batch.max_iter = max_iter, batch.intercept = intercept;
    batch.alpha = alpha.data();
    const std::int64_t m = batch.n_problems;
    batch.bias = figures.data(), batch.objective = figures.data() + m;
    batch.violation = figures.data() + 2 * m, batch.gap = figures.data() + 3 * m;
    batch.n_iter = n_iter.data();
    if (coef) batch.coef = coef->data();
    run(batch, n_threads);
}

}  // namespace

void bind_batch(nb::module_ &m) {
    m.def("solve_batch", &solve, nb::arg("x"), nb::arg("columns").none(), nb::arg("pointers").none(),
          nb::arg("n_columns"), nb::arg("kernel"), nb::arg("gamma"), nb::arg("degree"),
          nb::arg("coef0"), nb::arg("starts"), nb::arg("rows"), nb::arg("signs"), nb::arg("upper"),
          nb::arg("linear"), nb::arg("first").none(), nb::arg("tol"), nb::arg("max_iter"),
          nb::arg("intercept"), nb::arg("alpha"), nb::arg("figures"), nb::arg("n_iter"),
          nb::arg("coef").none(), nb::arg("n_threads"),
          "Solve many small hinge problems; arrays checked and allocated by the caller.");
}

}  // namespace shiftlearn
