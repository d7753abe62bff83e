// Platt's sigmoid p(f) = 1/(1 + exp(A f + B)) of many score vectors, each by Newton's method with
// backtracking (Lin, Lin and Weng 2007). Scores are centred and scaled first: the two columns of
// the Hessian are then nearly orthogonal and of one size, whatever the units of the scores.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "threads.h"

namespace nb = nanobind;

namespace shiftlearn {
namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

constexpr double kRidge = 1e-12;      // of the total weight, added to the diagonal of the Hessian
constexpr double kShortest = 1e-10;   // step at which backtracking gives up
constexpr double kSufficient = 1e-4;  // share of the predicted decrease that a step must give
constexpr double kRounding = 1e-15;   // of the objective: no decrease can be seen below it

struct Entries {
    const double *scores, *weights;
    const std::uint8_t *positive;
    std::int64_t n;
    double side[2];         // weights of negatives and positives, added up
    double target[2];       // of negatives and positives
    double centre, factor;  // the scaled score is (f - centre) * factor
    double total = 0.0;     // sum of the weights

    double score(std::int64_t i) const { return (scores[i] - centre) * factor; }
};

struct Slope {
    double a = 0.0, b = 0.0, aa = 0.0, ab = 0.0, bb = 0.0;
};

double objective(const Entries &e, double a, double b) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < e.n; ++i) {
        const double z = a * e.score(i) + b, t = e.target[e.positive[i]];
        const double tail = std::log1p(std::exp(-std::fabs(z)));
        sum += e.weights[i] * ((z >= 0 ? t * z : (t - 1.0) * z) + tail);
    }
    return sum;
}

Slope slope_at(const Entries &e, double a, double b) {
    Slope s;
    for (std::int64_t i = 0; i < e.n; ++i) {
        const double f = e.score(i), z = a * f + b;
        const double small = std::exp(-std::fabs(z)), whole = 1.0 + small;
        const double p = (z >= 0 ? small : 1.0) / whole;
        const double d = e.weights[i] * (e.target[e.positive[i]] - p);
        const double h = e.weights[i] * small / (whole * whole);
        s.a += d * f, s.b += d;
        s.aa += h * f * f, s.ab += h * f, s.bb += h;
    }
    return s;
}

// Counts, targets, centre and scale of one problem.
Entries prepared(const double *scores, const std::uint8_t *positive, const double *weights,
                 std::int64_t n) {
    Entries e{scores, weights, positive, n, {0.0, 0.0}, {0.0, 0.0}, 0.0, 0.0};
    double mean = 0.0, size = 0.0, spread = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
        e.side[positive[i]] += weights[i];
        mean += weights[i] * scores[i];
    }
    e.total = e.side[0] + e.side[1];
    e.target[0] = 1.0 / (e.side[0] + 2.0);
    e.target[1] = (e.side[1] + 1.0) / (e.side[1] + 2.0);
    if (e.total > 0.0) e.centre = mean / e.total;
    for (std::int64_t i = 0; i < n; ++i) {
        if (!(weights[i] > 0.0)) continue;
        size = std::fmax(size, std::fabs(scores[i]));
        spread = std::fmax(spread, std::fabs(scores[i] - e.centre));
    }
    // Scores that differ by rounding only tell nothing: A stays 0.
    if (spread > 1e-13 * size) e.factor = 1.0 / spread;
    return e;
}

struct Fit {
    double a = 0.0, b = 0.0, violation = 0.0;
    std::int64_t n_iter = 0;
};

Fit fit_one(const Entries &e, double tol, std::int64_t max_iter) {
    Fit fit;
    const double ridge = kRidge * std::fmax(1.0, e.total);
    fit.b = std::log((e.side[0] + 1.0) / (e.side[1] + 1.0));
    double value = objective(e, fit.a, fit.b);
    for (;; ++fit.n_iter) {
        const Slope s = slope_at(e, fit.a, fit.b);
        fit.violation = std::fmax(std::fabs(s.a), std::fabs(s.b)) / std::fmax(1.0, e.total);
        if (fit.violation <= tol || fit.n_iter >= max_iter) break;
        const double aa = s.aa + ridge, bb = s.bb + ridge, det = aa * bb - s.ab * s.ab;
        const double da = -(bb * s.a - s.ab * s.b) / det, db = -(aa * s.b - s.ab * s.a) / det;
        const double predicted = s.a * da + s.b * db;
        double step = 1.0, reached = value;
        for (; step >= kShortest; step *= 0.5) {
            reached = objective(e, fit.a + step * da, fit.b + step * db);
            if (reached <= value + kSufficient * step * predicted + kRounding * value) break;
        }
        if (step < kShortest) break;
        fit.a += step * da, fit.b += step * db, value = reached;
    }
    fit.a *= e.factor;
    fit.b -= fit.a * e.centre;
    return fit;
}

void fit_platt(const In<std::int64_t> &starts, const In<double> &scores,
               const In<std::uint8_t> &positive, const In<double> &weights, double tol,
               std::int64_t max_iter, const Out<double> &answer, const Out<std::int64_t> &n_iter,
               int n_threads) {
    constexpr std::int64_t kTask = 4096;  // entries: about a millisecond
    const std::int64_t m = static_cast<std::int64_t>(starts.size()) - 1;
    const std::int64_t *at = starts.data();
    std::vector<std::int64_t> cuts{0};
    for (std::int64_t p = 0; p < m; ++p)
        if (at[p + 1] - at[cuts.back()] >= kTask || p + 1 == m) cuts.push_back(p + 1);
    nb::gil_scoped_release released;
    parallel_for(static_cast<long>(cuts.size()) - 1, n_threads, [&](long task, int) {
        for (std::int64_t p = cuts[task]; p < cuts[task + 1]; ++p) {
            const std::int64_t from = at[p];
            const Fit fit = fit_one(prepared(scores.data() + from, positive.data() + from,
                                             weights.data() + from, at[p + 1] - from),
                                    tol, max_iter);
            answer.data()[p] = fit.a, answer.data()[m + p] = fit.b;
            answer.data()[2 * m + p] = fit.violation;
            n_iter.data()[p] = fit.n_iter;
        }
    });
}

}  // namespace

void bind_platt(nb::module_ &m) {
    m.def("fit_platt", &fit_platt, nb::arg("starts"), nb::arg("scores"), nb::arg("positive"),
          nb::arg("weights"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("answer"),
          nb::arg("n_iter"), nb::arg("n_threads"),
          "Fit sigmoids to many score vectors; arrays checked and allocated by the caller.");
}

}  // namespace shiftlearn
