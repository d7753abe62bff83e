// Bindings of the linear solver's loops, and the exact certificate of an answer.
//
// Certificate. With u_i = <x_i, w> and a multiplier b, let z_i = b s_i - p_i - s_i u_i (that is
// minus the gradient, without the D term) and l_i(z) = max_{0<=a<=C_i} a z - D_i a^2 / 2. For
// every a that keeps the sum and every b
//     f(a) - f*  <=  sum_i [ l_i(z_i) - (a_i z_i - D_i a_i^2 / 2) ],   each summand >= 0,
// and the b that makes the bound smallest minimises the primal  sum_i l_i(z_i) - b r,  a convex
// piecewise quadratic function: its derivative in b is searched exactly, in O(n).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cpu.h"
#include "linear.h"
#include "threads.h"

namespace nb = nanobind;

namespace shiftlearn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableValues = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

const LinearKernels &kernels() {
#if defined(SHIFTLEARN_X86)
    if (isa() == Isa::avx512) return isa_avx512::linear_kernels();
    if (isa() == Isa::avx2) return isa_avx2::linear_kernels();
#endif
    return isa_portable::linear_kernels();
}

void require(bool fine, const char *what) {
    if (!fine) throw std::invalid_argument(what);
}

template <class Array>
void require_length(const Array &array, long n, const char *what) {
    require(long(array.shape(0)) == n, what);
}

// ---------------------------------------------------------------- rows

class Rows {
   public:
    explicit Rows(AnyMatrix matrix) : first_(nb::cast(matrix)) {
        view.values = matrix.data();
        view.wide_values = is_wide_float(matrix.dtype());
        view.n = long(matrix.shape(0));
        view.d = long(matrix.shape(1));
        entries = double(view.n) * double(view.d);
    }
    Rows(AnyVector values, AnyVector indices, AnyVector starts, long columns)
        : first_(nb::cast(values)), second_(nb::cast(indices)), third_(nb::cast(starts)) {
        view.values = values.data();
        view.wide_values = is_wide_float(values.dtype());
        require(indices.dtype() == starts.dtype(), "indices and indptr must have one dtype");
        view.indices = indices.data();
        view.starts = starts.data();
        view.wide_indices = indices.dtype() == nb::dtype<std::int64_t>();
        require(view.wide_indices || indices.dtype() == nb::dtype<std::int32_t>(),
                "indices must be int32 or int64");
        view.n = long(starts.shape(0)) - 1;
        view.d = columns;
        entries = double(values.shape(0));
        if (view.wide_indices)
            check<std::int64_t>(long(values.shape(0)), long(indices.shape(0)));
        else
            check<std::int32_t>(long(values.shape(0)), long(indices.shape(0)));
    }

    // Threads are started only where the work pays for them.
    int threads_for(long lo, long hi, int threads) const {
        const double share = view.n ? double(hi - lo) / double(view.n) : 0.0;
        return entries * share < double(1 << 18) ? 1 : threads;
    }

    RowsView view;
    double entries = 0;

   private:
    static bool is_wide_float(nb::dlpack::dtype type) {
        const bool wide = type == nb::dtype<double>();
        require(wide || type == nb::dtype<float>(), "values must be float32 or float64");
        return wide;
    }
    template <class I>
    void check(long stored, long n_indices) const {
        const auto *starts = static_cast<const I *>(view.starts);
        const auto *indices = static_cast<const I *>(view.indices);
        require(view.n >= 0 && starts[0] == 0, "indptr must begin with 0");
        for (long i = 0; i < view.n; ++i)
            require(starts[i] <= starts[i + 1], "indptr must not decrease");
        const long end = long(starts[view.n]);
        require(end <= stored && end <= n_indices, "indptr points behind the data");
        for (long k = 0; k < end; ++k)
            require(indices[k] >= 0 && long(indices[k]) < view.d, "a column index is out of range");
    }

    nb::object first_, second_, third_;  // keep the arrays alive
};

std::pair<long, long> part(long lo, long hi, long task, long tasks) {
    const long length = hi - lo;
    return {lo + length * task / tasks, lo + length * (task + 1) / tasks};
}

// Runs body(lo, hi, partial) over `tasks` parts with one zeroed partial each, then adds them to
// `out` in order: the same sum whatever the number of threads.
template <class Body>
void ordered_sum(long lo, long hi, long tasks, int threads, double *out, long length,
                 const Body &body) {
    if (tasks <= 1) return body(lo, hi, out);
    std::vector<std::vector<double>> partial(static_cast<std::size_t>(tasks));
    parallel_for(tasks, threads, [&](long task, int) {
        partial[std::size_t(task)].assign(std::size_t(length), 0.0);
        const auto range = part(lo, hi, task, tasks);
        body(range.first, range.second, partial[std::size_t(task)].data());
    });
    for (const auto &values : partial)
        for (long k = 0; k < length; ++k) out[k] += values[std::size_t(k)];
}

void bound(const Rows &rows, long lo, long hi) {
    require(0 <= lo && lo <= hi && hi <= rows.view.n, "the row range is outside the matrix");
}

void norms(const Rows &rows, MutableValues out, long lo, long hi) {
    require_length(out, rows.view.n, "out must have one entry a row");
    bound(rows, lo, hi);
    nb::gil_scoped_release release;
    kernels().norms(rows.view, out.data(), lo, hi);
}

void products(const Rows &rows, Values w, MutableValues out, long lo, long hi, int threads) {
    require_length(w, rows.view.d, "w must have one entry a column");
    require_length(out, rows.view.n, "out must have one entry a row");
    bound(rows, lo, hi);
    nb::gil_scoped_release release;
    const int count = rows.threads_for(lo, hi, threads);
    const long tasks = count > 1 ? 64 : 1;
    parallel_for(tasks, count, [&](long task, int) {
        const auto range = part(lo, hi, task, tasks);
        kernels().products(rows.view, w.data(), out.data(), range.first, range.second);
    });
}

void combine(const Rows &rows, Values c, MutableValues out, long lo, long hi, int threads) {
    require_length(c, rows.view.n, "c must have one entry a row");
    require_length(out, rows.view.d, "out must have one entry a column");
    bound(rows, lo, hi);
    nb::gil_scoped_release release;
    // Partial sums pay while there are many more entries than columns.
    const double per_column = rows.entries / double(rows.view.d + 1);
    const long tasks = rows.entries < double(1 << 18) ? 1 : std::clamp(long(per_column / 8), 1L, 8L);
    ordered_sum(lo, hi, tasks, threads, out.data(), rows.view.d,
                [&](long from, long to, double *sum) {
                    kernels().combine(rows.view, c.data(), sum, from, to);
                });
}

void gram(const Rows &rows, Positions chosen, Values t, MutableMatrix out, long lo, long hi,
          int threads) {
    const long d = rows.view.d;
    require(long(out.shape(0)) == d && long(out.shape(1)) == d, "out must be d x d");
    require_length(t, long(chosen.shape(0)), "t must have one entry a chosen row");
    require(0 <= lo && lo <= hi && hi <= long(chosen.shape(0)), "the range is outside the rows");
    nb::gil_scoped_release release;
    const long tasks = std::clamp((hi - lo) / 256, 1L, 8L);
    ordered_sum(lo, hi, tasks, threads, out.data(), d * d, [&](long from, long to, double *sum) {
        kernels().gram(rows.view, chosen.data(), t.data(), from, to, sum);
    });
}

void row_gram(const Rows &rows, Positions chosen, MutableMatrix out, long lo, long hi,
              int threads) {
    const long count = long(chosen.shape(0));
    require(long(out.shape(0)) == count && long(out.shape(1)) == count, "out must be square");
    require(0 <= lo && lo <= hi && hi <= count, "the range is outside the rows");
    nb::gil_scoped_release release;
    const int workers = hi - lo < 32 ? 1 : std::max(1, threads);
    std::vector<std::vector<double>> scratch(std::size_t(workers),
                                             std::vector<double>(std::size_t(rows.view.d), 0.0));
    parallel_for(hi - lo, workers, [&](long k, int worker) {
        kernels().row_products(rows.view, long(chosen.data()[lo + k]), chosen.data(), count,
                               scratch[std::size_t(worker)].data(), out.data() + (lo + k) * count);
    });
}

// ---------------------------------------------------------------- descent

class Descent {
   public:
    Descent(nb::object rows, Values signs, Values linear, Values upper,
            std::optional<Values> diagonal, Values norms, MutableValues alpha, MutableValues w)
        : rows_(nb::cast<const Rows *>(rows)),
          held_{rows,           nb::cast(signs), nb::cast(linear), nb::cast(upper),
                nb::cast(norms), nb::cast(alpha), nb::cast(w)} {
        const long n = rows_->view.n;
        require_length(signs, n, "signs must have one entry a row");
        require_length(linear, n, "linear must have one entry a row");
        require_length(upper, n, "upper must have one entry a row");
        require_length(norms, n, "norms must have one entry a row");
        require_length(alpha, n, "alpha must have one entry a row");
        require_length(w, rows_->view.d, "w must have one entry a column");
        state.signs = signs.data();
        state.linear = linear.data();
        state.upper = upper.data();
        state.norms = norms.data();
        state.alpha = alpha.data();
        state.w = w.data();
        state.diagonal = nullptr;
        if (diagonal) {
            require_length(*diagonal, n, "diagonal must have one entry a row");
            state.diagonal = diagonal->data();
            held_.push_back(nb::cast(*diagonal));
        }
        order_.reserve(std::size_t(n));
        for (long i = 0; i < n; ++i)
            if (state.upper[i] > 0) order_.push_back(i);
        state.order = order_.data();
        state.eligible = long(order_.size());
    }

    // (Re)starts the descent at the present alpha and w, which somebody may have changed.
    void restart(double tol, double penalty, double beta, double total, bool grouped,
                 std::uint64_t seed) {
        state.tol = tol;
        state.grouped = grouped;
        state.penalty = grouped ? penalty : 0.0;
        state.beta = grouped ? beta : 0.0;
        state.total = total;
        state.sum = 0;
        for (const auto i : order_) state.sum += state.signs[i] * state.alpha[i];
        state.random = seed;
        state.active = state.eligible;
        state.shrink_above = kInfinity;
        state.shrink_below = -kInfinity;
        state.inner_tol = grouped ? std::max(tol, 1e-2) : tol;
        state.position = -1;
        state.done = false;
    }

    bool run(double work) {
        nb::gil_scoped_release release;
        kernels().descend(rows_->view, state, work);
        return state.done;
    }

    DescentState state;

   private:
    const Rows *rows_;
    std::vector<nb::object> held_;
    std::vector<std::int64_t> order_;
};

// ---------------------------------------------------------------- certificate

// The derivative of the primal in b is A + B b between events; each event changes A and B.
struct Step {
    double at, a, b;
};

struct Interval {
    double low, high;
};

struct Group {
    const double *u, *signs, *linear, *upper, *diagonal;  // diagonal may be null
    long n;
    double total;
};

// s_i a_i(b) climbs by C_i between `from` and `from` + D_i C_i.
void add_steps(const Group &g, std::vector<Step> &steps, double &a, double &b, double &size) {
    for (long i = 0; i < g.n; ++i) {
        const double c = g.upper[i], ridge = g.diagonal ? g.diagonal[i] : 0.0;
        if (c <= 0) continue;
        const double at = g.signs[i] * g.linear[i] + g.u[i];
        const bool positive = g.signs[i] > 0;
        if (ridge <= 0) {
            if (!positive) a -= c;
            size += c;
            steps.push_back({at, c, 0.0});
            continue;
        }
        const double slope = 1 / ridge, end = c * ridge;
        size += std::min(c, std::fabs(at) * slope + 1);
        if (positive) {
            steps.push_back({at, -at * slope, slope});
            if (end < kInfinity) steps.push_back({at + end, (at + end) * slope, -slope});
        } else {
            if (end < kInfinity) {
                a -= c;
                steps.push_back({at - end, -(at - end) * slope, slope});
            } else {
                a -= at * slope;
                b += slope;
            }
            steps.push_back({at, at * slope, -slope});
        }
    }
}

// All b at which the derivative is zero (between low and high), by bisection over the events:
// each round looks at the events that are left and discards a half of them on average.
Interval optimal_multipliers(const Group &g) {
    std::vector<Step> steps;
    double a = -g.total, b = 0, size = std::fabs(g.total);
    add_steps(g, steps, a, b, size);
    const double zero = 1e-13 * size;
    double left = -kInfinity, right = kInfinity, steepest = b;
    for (const Step &s : steps) steepest += std::max(s.b, 0.0);
    const double flat = 1e-13 * steepest;
    auto first = steps.begin(), last = steps.end();
    while (first != last) {
        auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last, [](const Step &x, const Step &y) { return x.at < y.at; });
        const double pivot = middle->at;
        double a0 = a, b0 = b, before = left;  // everything strictly before the pivot
        auto split = std::partition(first, last, [&](const Step &s) { return s.at < pivot; });
        for (auto s = first; s != split; ++s) a0 += s->a, b0 += s->b, before = std::max(before, s->at);
        double a1 = a0, b1 = b0;
        auto beyond = std::partition(split, last, [&](const Step &s) { return s.at == pivot; });
        for (auto s = split; s != beyond; ++s) a1 += s->a, b1 += s->b;
        const double value = a0 + b0 * pivot, after = a1 + b1 * pivot;
        if (after < -zero) {
            a = a1, b = b1, left = pivot, first = beyond;
        } else if (value > zero) {
            right = pivot, last = split;
        } else {
            Interval found{pivot, pivot};
            if (std::fabs(value) <= zero && b0 <= flat) found.low = before;
            if (std::fabs(after) <= zero && b1 <= flat) {
                found.high = right;
                for (auto s = beyond; s != last; ++s) found.high = std::min(found.high, s->at);
            }
            return found;
        }
    }
    if (b <= flat) return {left, right};  // no event was a root: the derivative is flat here
    const double root = std::clamp(-a / b, left, right);
    return {root, root};
}

double choose(const Interval &i) {
    if (i.low > -kInfinity && i.high < kInfinity) return 0.5 * (i.low + i.high);
    return std::clamp(0.0, i.low, i.high);
}

struct Quality {
    double gap = 0, violation = 0, value = 0;
};

// Largest value of a z - D a^2 / 2 in the box.
double best_value(double z, double c, double ridge) {
    if (z <= 0 || c <= 0) return 0;
    const double a = ridge > 0 ? std::min(c, z / ridge) : c;
    return a * (z - 0.5 * ridge * a);
}

Quality judge(const Group &g, const double *alpha, double b, double *gradient) {
    Quality q;
    for (long i = 0; i < g.n; ++i) {
        const double ridge = g.diagonal ? g.diagonal[i] : 0.0, a = alpha[i], c = g.upper[i];
        const double plain = g.linear[i] + g.signs[i] * g.u[i] + ridge * a;
        const double z = ridge * a - plain + b * g.signs[i], slope = plain - b * g.signs[i];
        gradient[i] = plain;
        q.value += a * (0.5 * ridge * a + g.linear[i]);
        if (ridge > 0)
            q.gap += std::max(0.0, best_value(z, c, ridge) - a * (z - 0.5 * ridge * a));
        else
            q.gap += z > 0 ? (c - a) * z : -a * z;
        const double rounding = c < kInfinity ? 1e-14 * c : 0.0;
        if (a < c - rounding) q.violation = std::max(q.violation, -slope);
        if (a > rounding) q.violation = std::max(q.violation, slope);
    }
    return q;
}

// (b, low, high, gap, violation, value without |w|^2/2); fills `gradient` = Qa + p.
nb::tuple certify(Values u, Values signs, Values linear, Values upper,
                  std::optional<Values> diagonal, Values alpha, double total, bool grouped,
                  MutableValues gradient) {
    const long n = long(u.shape(0));
    require_length(signs, n, "signs must have one entry a row");
    require_length(linear, n, "linear must have one entry a row");
    require_length(upper, n, "upper must have one entry a row");
    require_length(alpha, n, "alpha must have one entry a row");
    require_length(gradient, n, "gradient must have one entry a row");
    if (diagonal) require_length(*diagonal, n, "diagonal must have one entry a row");
    const Group g{u.data(),     signs.data(), linear.data(), upper.data(),
                  diagonal ? diagonal->data() : nullptr, n, total};
    Interval found{0, 0};
    Quality q;
    double b = 0;
    {
        nb::gil_scoped_release release;
        if (grouped) {
            found = optimal_multipliers(g);
            b = choose(found);
        }
        q = judge(g, alpha.data(), b, gradient.data());
    }
    return nb::make_tuple(b, found.low, found.high, q.gap, q.violation, q.value);
}

// The b at which sum_i s_i a_i(b) = r, for a_i(b) = the best a_i at the products u and b.
double multiplier(Values u, Values signs, Values linear, Values upper, Values diagonal,
                  double total) {
    const long n = long(u.shape(0));
    require_length(signs, n, "signs must have one entry a row");
    require_length(linear, n, "linear must have one entry a row");
    require_length(upper, n, "upper must have one entry a row");
    require_length(diagonal, n, "diagonal must have one entry a row");
    nb::gil_scoped_release release;
    return choose(optimal_multipliers(Group{u.data(), signs.data(), linear.data(), upper.data(),
                                            diagonal.data(), n, total}));
}

// a_i = clip((z_i + t dz_i + delta center_i) / (D_i + delta), 0, C_i); returns sum_i a_i dz_i.
double best_alpha(Values z, Values dz, double t, Values center, double delta,
                  std::optional<Values> diagonal, Values upper, MutableValues out, int threads) {
    const long n = long(z.shape(0));
    require_length(dz, n, "dz must have one entry a row");
    require_length(center, n, "center must have one entry a row");
    require_length(upper, n, "upper must have one entry a row");
    require_length(out, n, "out must have one entry a row");
    if (diagonal) require_length(*diagonal, n, "diagonal must have one entry a row");
    const double *ridge = diagonal ? diagonal->data() : nullptr;
    const double *zs = z.data(), *dzs = dz.data(), *centers = center.data(), *most = upper.data();
    double *a = out.data(), slope = 0;
    nb::gil_scoped_release release;
    const long tasks = std::clamp(n / 32768, 1L, 16L);
    ordered_sum(0, n, tasks, threads, &slope, 1, [&](long lo, long hi, double *sum) {
        double part = 0;
        for (long i = lo; i < hi; ++i) {
            const double wanted = zs[i] + t * dzs[i] + delta * centers[i];
            a[i] = std::min(std::max(wanted / ((ridge ? ridge[i] : 0.0) + delta), 0.0), most[i]);
            part += a[i] * dzs[i];
        }
        *sum += part;
    });
    return slope;
}

// Restores the sum exactly, moving first the rows with the smallest gradient entry.
void restore_sum(MutableValues alpha, Values slopes, Values signs, Values upper, double total) {
    const long n = long(alpha.shape(0));
    require_length(slopes, n, "slopes must have one entry a row");
    require_length(signs, n, "signs must have one entry a row");
    require_length(upper, n, "upper must have one entry a row");
    nb::gil_scoped_release release;
    double *a = alpha.data();
    std::vector<std::pair<double, long>> heap;
    for (int round = 0; round < 3; ++round) {
        double sum = -total, size = std::fabs(total);
        for (long i = 0; i < n; ++i) sum += signs.data()[i] * a[i], size += a[i];
        if (std::fabs(sum) <= 1e-15 * size) return;  // rounding of the sum itself
        heap.clear();
        for (long i = 0; i < n; ++i) {
            const bool down = signs.data()[i] * sum > 0;
            const bool free = a[i] > 0 && a[i] < upper.data()[i];
            if (down ? a[i] > 0 : a[i] < upper.data()[i])
                heap.emplace_back(free ? -1 / (1 + std::fabs(slopes.data()[i]))
                                       : std::fabs(slopes.data()[i]), i);
        }
        const auto later = [](const auto &x, const auto &y) { return x > y; };
        std::make_heap(heap.begin(), heap.end(), later);
        while (sum != 0 && !heap.empty()) {
            std::pop_heap(heap.begin(), heap.end(), later);
            const long i = heap.back().second;
            heap.pop_back();
            const double sign = signs.data()[i];
            const double moved = std::min(std::max(a[i] - sign * sum, 0.0), upper.data()[i]);
            const double change = moved - a[i];
            if (change == 0) break;  // what is left is rounding
            a[i] = moved;
            const double rest = sum + sign * change;
            sum = std::fabs(rest) <= 1e-16 * std::fabs(sum) ? 0.0 : rest;
        }
    }
}

}  // namespace

void bind_linear(nb::module_ &m) {
    nb::class_<Rows>(m, "Rows", "Rows of a dense (C order) or CSR matrix, not copied.")
        .def(nb::init<AnyMatrix>())
        .def(nb::init<AnyVector, AnyVector, AnyVector, long>())
        .def_ro("entries", &Rows::entries)
        .def("norms", &norms)
        .def("products", &products)
        .def("combine", &combine)
        .def("gram", &gram)
        .def("row_gram", &row_gram);
    nb::class_<Descent>(m, "Descent", "Dual coordinate descent that runs in slices of work.")
        .def(nb::init<nb::object, Values, Values, Values, std::optional<Values>, Values,
                      MutableValues, MutableValues>(),
             nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
             nb::arg())
        .def("restart", &Descent::restart)
        .def("run", &Descent::run)
        .def_prop_ro("sweeps", [](const Descent &d) { return d.state.sweeps; })
        .def_prop_ro("beta", [](const Descent &d) { return d.state.beta; })
        .def_prop_ro("violation", [](const Descent &d) { return d.state.violation; });
    m.def("linear_certify", &certify, nb::arg("u"), nb::arg("signs"), nb::arg("linear"),
          nb::arg("upper"), nb::arg("diagonal").none(), nb::arg("alpha"), nb::arg("total"),
          nb::arg("grouped"), nb::arg("gradient"));
    m.def("linear_multiplier", &multiplier);
    m.def("linear_best_alpha", &best_alpha, nb::arg("z"), nb::arg("dz"), nb::arg("t"),
          nb::arg("center"), nb::arg("delta"), nb::arg("diagonal").none(), nb::arg("upper"),
          nb::arg("out"), nb::arg("threads"));
    m.def("linear_restore_sum", &restore_sum);
}

}  // namespace shiftlearn
