// Pairwise descent on a working set, see working_set.h. Two passes over vectors of length q a
// step: choose the partner, then update the gradient and find the next violations on the way.
#include "working_set.h"

#include <limits>

#include "simd.h"

namespace shiftlearn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTau = 1e-12;  // stands in for curvatures that are not positive
constexpr int W = width<double>;

SHIFTLEARN_INLINE Vec<double> counting(long first) {
    Vec<double> v;
    for (int i = 0; i < W; ++i) v[i] = double(first + i);
    return v;
}

// The largest value and its index among the lanes; of equal values the smallest index.
SHIFTLEARN_INLINE void reduce(Vec<double> best, Vec<double> index, double &value, long &at) {
    for (int i = 0; i < W; ++i)
        if (best[i] > value || (best[i] == value && long(index[i]) < at)) {
            value = best[i];
            at = long(index[i]);
        }
}

struct Extremes {
    double up = -kInfinity, down = -kInfinity;  // max of -g over u < upper; of g over u > lower
    long up_at = -1, down_at = -1;
};

template <class T>
class Descent {
  public:
    Descent(const T *matrix, WorkingSet &set)
        : K_(matrix), s_(set), no_up_(set.scratch), no_down_(set.scratch + set.q),
          diagonal_(set.scratch + 2 * set.q) {
        for (long t = 0; t < s_.q; ++t) {
            diagonal_[t] = double(K_[t * s_.stride + t]);
            mark(t);
        }
    }

    void run() {
        s_.steps = 0;
        s_.violation = find_violations(nullptr, 0, nullptr, 0);
        while (s_.violation > s_.tol && s_.steps < s_.max_steps) {
            s_.violation = group_ < s_.n_groups ? move_pair() : move_alone();
            ++s_.steps;
        }
    }

  private:
    const T *row(long t) const { return K_ + t * s_.stride; }

    void mark(long t) {  // at a bound a variable may move one way only
        no_up_[t] = s_.u[t] < s_.upper[t] ? 0 : kInfinity;
        no_down_[t] = s_.u[t] > s_.lower[t] ? 0 : kInfinity;
    }

    // g += step_i K_i + step_j K_j, then the most violated group and its extremes.
    double find_violations(const T *row_i, double step_i, const T *row_j, double step_j) {
        double worst = 0;
        group_ = 0;
        for (long k = 0; k < s_.n_groups; ++k) {
            const Extremes e = sweep(s_.starts[k], s_.starts[k + 1], row_i, step_i, row_j, step_j);
            if (e.up_at >= 0 && e.down_at >= 0 && e.up + e.down > worst) {
                worst = e.up + e.down;
                group_ = k;
                best_ = e;
            }
        }
        const Extremes e = sweep(s_.starts[s_.n_groups], s_.q, row_i, step_i, row_j, step_j);
        if (e.up > worst || e.down > worst) {
            worst = e.up > e.down ? e.up : e.down;
            group_ = s_.n_groups;
            best_ = e;
        }
        return worst;
    }

    Extremes sweep(long first, long last, const T *row_i, double step_i, const T *row_j,
                   double step_j) {
        Extremes e;
        Vec<double> up = broadcast(-kInfinity), down = up, up_at = broadcast(-1.0), down_at = up_at;
        const Vec<double> di = broadcast(step_i), dj = broadcast(step_j), zero = broadcast(0.0);
        double *g = s_.g;
        long t = first;
        for (; t + W <= last; t += W) {
            Vec<double> now = load<double>(g + t);
            if (row_i) {
                now = now + di * load_double(row_i + t);
                if (row_j) now = now + dj * load_double(row_j + t);
                store<double>(g + t, now);
            }
            const Vec<double> at = counting(t);
            keep_higher(zero - now - load<double>(no_up_ + t), at, up, up_at);
            keep_higher(now - load<double>(no_down_ + t), at, down, down_at);
        }
        reduce(up, up_at, e.up, e.up_at);
        reduce(down, down_at, e.down, e.down_at);
        for (; t < last; ++t) {
            if (row_i) g[t] += step_i * double(row_i[t]) + (row_j ? step_j * double(row_j[t]) : 0);
            if (-g[t] - no_up_[t] > e.up) e.up = -g[t] - no_up_[t], e.up_at = t;
            if (g[t] - no_down_[t] > e.down) e.down = g[t] - no_down_[t], e.down_at = t;
        }
        return e;
    }

    // The partner of i with the largest decrease b²/a, b = violation of the pair, a = curvature.
    long partner(long i) {
        const T *row_i = row(i);
        const long first = s_.starts[group_], last = s_.starts[group_ + 1];
        const double m = best_.up, kii = diagonal_[i];
        Vec<double> best = broadcast(0.0), best_at = broadcast(-1.0);
        long t = first;
        for (; t + W <= last; t += W) {
            const Vec<double> b = higher<double>(
                broadcast(m) + load<double>(s_.g + t) - load<double>(no_down_ + t), broadcast(0.0));
            const Vec<double> ki = load_double(row_i + t);
            const Vec<double> a = higher<double>(
                broadcast(kii) + load<double>(diagonal_ + t) - (ki + ki), broadcast(kTau));
            keep_higher(b * b / a, counting(t), best, best_at);
        }
        double value = 0;
        long at = -1;
        reduce(best, best_at, value, at);
        for (; t < last; ++t) {
            const double b = m + s_.g[t] - no_down_[t];
            if (!(b > 0)) continue;
            double a = kii + diagonal_[t] - 2 * double(row_i[t]);
            if (!(a > kTau)) a = kTau;
            if (b * b / a > value) value = b * b / a, at = t;
        }
        return at;
    }

    double move_pair() {
        const long i = best_.up_at, j = partner(i);
        double a = diagonal_[i] + diagonal_[j] - 2 * double(row(i)[j]);
        if (a < -1e-5 * (1 + diagonal_[i] * diagonal_[i] + diagonal_[j] * diagonal_[j]))
            s_.indefinite = true;
        if (!(a > kTau)) a = kTau;
        double step = (s_.g[j] - s_.g[i]) / a;
        const double room_i = s_.upper[i] - s_.u[i], room_j = s_.u[j] - s_.lower[j];
        const bool full_i = step >= room_i && room_i <= room_j, full_j = !full_i && step >= room_j;
        if (full_i) step = room_i;
        if (full_j) step = room_j;
        s_.u[i] = full_i ? s_.upper[i] : s_.u[i] + step;
        s_.u[j] = full_j ? s_.lower[j] : s_.u[j] - step;
        mark(i);
        mark(j);
        return find_violations(row(i), step, row(j), -step);
    }

    double move_alone() {
        const long i = best_.up > best_.down ? best_.up_at : best_.down_at;
        const double a = diagonal_[i] > kTau ? diagonal_[i] : kTau;
        if (diagonal_[i] < 0) s_.indefinite = true;
        const double before = s_.u[i], wanted = before - s_.g[i] / a;
        s_.u[i] = wanted < s_.lower[i] ? s_.lower[i] : wanted > s_.upper[i] ? s_.upper[i] : wanted;
        mark(i);
        return find_violations(row(i), s_.u[i] - before, nullptr, 0);
    }

    const T *K_;
    WorkingSet &s_;
    double *no_up_, *no_down_, *diagonal_;
    long group_ = 0;
    Extremes best_;
};

template <class T>
void solve(const T *matrix, WorkingSet &set) {
    Descent<T>(matrix, set).run();
}

}  // namespace

namespace SHIFTLEARN_ISA_NAMESPACE {
extern const WorkingSetTable working_set;
const WorkingSetTable working_set = {solve<float>, solve<double>};
}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
