// One small problem, solved by steps along two variables (sequential minimal optimisation).
//
//     min_a  1/2 a'Qa + p'a,   0 <= a_i <= C_i,   Q_ij = s_i s_j K_ij,   [sum_i s_i a_i = 0]
//
// in the variables beta_i = s_i a_i, which lie in [min(0, s_i C_i), max(0, s_i C_i)], and the slope
// F = -s (Qa + p) = -s p - K beta. With the constraint (an intercept) the optimum is reached where
// no F of a variable that can grow lies above the F of one that can shrink; without it where no
// variable can follow its own F. K is never multiplied by signs, so problems can share it.
//
// NV > 0: the number of eight-lane vectors is known to the compiler and the state lives in
// registers; NV = 0: any number, the state lives in scratch memory.
#pragma once

#include "batch.h"
#include "batch_gram.h"
#include "lanes.h"

namespace shiftlearn {
namespace SHIFTLEARN_ISA_NAMESPACE {
namespace {

constexpr double kHuge = 1e300;  // stands for infinity: safe under every floating-point mode
constexpr double kTiny = 1e-200;
constexpr double kRounding = 8 * 2.220446049250313e-16;
constexpr std::int64_t kStepsBetweenStops = 1 << 14;
constexpr std::int64_t kMovesOfLeap = 30;
constexpr int kStateVectors = 9;

SHIFTLEARN_INLINE double magnitude(double x) { return x < 0 ? -x : x; }
SHIFTLEARN_INLINE double least(double x, double y) { return x < y ? x : y; }
SHIFTLEARN_INLINE double most(double x, double y) { return x > y ? x : y; }
SHIFTLEARN_INLINE double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

// The best lane so far, and in which vector it was seen.
struct Best {
    Lanes value, block;
};

SHIFTLEARN_INLINE void keep_larger(Best &best, Lanes value, int block) {
    const Mask better = less(best.value, value);
    best.value = choose(better, value, best.value);
    best.block = choose(better, all(block), best.block);
}

template <int NV>
SHIFTLEARN_INLINE std::int64_t position(const Best &best, double value) {
    const int lane = first_bit(bits(equal(best.value, all(value))));
    if (NV == 1) return lane;
    return static_cast<std::int64_t>(pick(best.block, lane)) * kLanes + lane;
}

// Value of beta after a step, exactly at a bound where only rounding separates it from there:
// which variables are free decides the intercept. `size` is the scale of the rounding errors.
SHIFTLEARN_INLINE double settled(double beta, double step, double low, double high, double size) {
    const double moved = beta + step;
    const double scale = kRounding * most(size, most(magnitude(beta), magnitude(step)));
    if (moved >= high - most(scale, kRounding * magnitude(high))) return high;
    if (moved <= low + most(scale, kRounding * magnitude(low))) return low;
    return moved;
}

#if defined(_MSC_VER) && !defined(__clang__)
#define SHIFTLEARN_METHOD __forceinline
#else
#define SHIFTLEARN_METHOD inline __attribute__((always_inline))
#endif

struct Pair {
    double first, second;
};

// Best move along one variable: max f d - k d^2 / 2 over low <= d <= high.
double best_move(double f, double k, double low, double high) {
    if (k > 0) return within(f / k, low, high);
    return f > 0 ? high : f < 0 ? low : 0.0;
}

// Best move along two variables inside their boxes: the interior optimum or the best of four edges.
Pair best_pair(const double f[2], double k00, double k11, double k01, const double low[2],
               const double high[2]) {
    const double det = k00 * k11 - k01 * k01;
    if (det > 1e-12 * k00 * k11) {
        const Pair d{(f[0] * k11 - f[1] * k01) / det, (f[1] * k00 - f[0] * k01) / det};
        if (d.first >= low[0] && d.first <= high[0] && d.second >= low[1] && d.second <= high[1])
            return d;
    }
    Pair best{0.0, 0.0};
    double best_gain = -kHuge;
    for (int edge = 0; edge < 4; ++edge) {
        const bool on_first = edge < 2;
        const double end = on_first ? (edge & 1 ? high[0] : low[0]) : (edge & 1 ? high[1] : low[1]);
        Pair d;
        if (on_first) d = {end, best_move(f[1] - k01 * end, k11, low[1], high[1])};
        else d = {best_move(f[0] - k01 * end, k00, low[0], high[0]), end};
        const double gain = f[0] * d.first + f[1] * d.second -
                            0.5 * (k00 * d.first * d.first + k11 * d.second * d.second) -
                            k01 * d.first * d.second;
        if (gain > best_gain) best_gain = gain, best = d;
    }
    return best;
}

template <int NV>
class Smo {
public:
    Smo(const Batch &batch, std::int64_t problem, const double *gram, Scratch &scratch)
        : batch_(batch),
          from_(batch.starts[problem]),
          n_(batch.starts[problem + 1] - from_),
          nv_(NV ? NV : static_cast<int>(padded(n_) / kLanes)),
          stride_(batch.kernel == BatchKernel::shared ? batch.shared_stride : padded(n_)),
          gram_(gram) {
        if (!NV)
            lent_ = reinterpret_cast<Lanes *>(scratch.doubles(
                Scratch::state, static_cast<std::size_t>(kStateVectors) * nv_ * kLanes));
        fill();
        if (batch.first) begin_at(batch.first + from_);
    }

    void solve() {
        bool fresh = true, stuck = false;
        Pair step{0.0, 0.0};
        const double *row[2] = {gram_, gram_};
        for (;;) {
            violation_ = batch_.intercept ? scan_pairs(step, row) : scan_single(step, row);
            step = {0.0, 0.0};
            if (!(violation_ > batch_.tol) || n_iter_ >= batch_.max_iter || stuck || interrupted()) {
                if (fresh) break;
                refresh();
                fresh = true;
                stuck = false;
                continue;
            }
            if (n_iter_ >= next_leap_) {
                leap();
                fresh = false;
                continue;
            }
            stuck = !(batch_.intercept ? step_pair(step, row) : step_single(step, row));
            fresh = fresh && stuck;
            ++n_iter_;
        }
    }

    void write(std::int64_t problem) {
        const double b = bias();
        double objective = 0.0, gap = 0.0;
        for (std::int64_t i = 0; i < n_; ++i) {
            const double sign = batch_.signs[from_ + i], upper = batch_.upper[from_ + i];
            const double beta = get(beta_(), i), f = get(f_(), i);
            const double a = magnitude(beta), slope = sign * (b - f);
            objective += 0.5 * (batch_.linear[from_ + i] * a - beta * f);
            gap += slope > 0 ? a * slope : (a - upper) * slope;
            batch_.alpha[from_ + i] = a;
        }
        batch_.bias[problem] = b;
        batch_.objective[problem] = objective;
        batch_.gap[problem] = gap;
        batch_.violation[problem] = violation_ < 0.0 ? 0.0 : violation_;
        batch_.n_iter[problem] = n_iter_;
    }

private:
    SHIFTLEARN_METHOD Lanes *state(int k) { return NV ? own_ + k * NV : lent_ + k * nv_; }
    SHIFTLEARN_METHOD Lanes *f_() { return state(0); }
    SHIFTLEARN_METHOD Lanes *beta_() { return state(1); }
    SHIFTLEARN_METHOD Lanes *low_() { return state(2); }
    SHIFTLEARN_METHOD Lanes *high_() { return state(3); }
    SHIFTLEARN_METHOD Lanes *diag_() { return state(4); }
    SHIFTLEARN_METHOD Lanes *way_() { return state(7); }   // direction of a leap
    SHIFTLEARN_METHOD Lanes *bend_() { return state(8); }  // K times it
    SHIFTLEARN_METHOD Lanes *grows_() { return state(5); }    // 0 where beta can grow, else -huge
    SHIFTLEARN_METHOD Lanes *shrinks_() { return state(6); }  // 0 where it can shrink, else huge

    const double *gram_row(std::int64_t i) const { return gram_ + i * stride_; }

    SHIFTLEARN_METHOD double get(const Lanes *values, std::int64_t i) {
        if (NV == 1) return pick(values[0], static_cast<int>(i));
        return reinterpret_cast<const double *>(values)[i];
    }
    SHIFTLEARN_METHOD void set(Lanes *values, std::int64_t i, double x) {
        Lanes &block = values[NV == 1 ? 0 : i / kLanes];
        block = choose(only(static_cast<int>(i % kLanes)), all(x), block);
    }

    SHIFTLEARN_METHOD void mark_bounds(std::int64_t block) {
        const Lanes zero = all(0.0);
        grows_()[block] = choose(less(beta_()[block], high_()[block]), zero, all(-kHuge));
        shrinks_()[block] = choose(less(low_()[block], beta_()[block]), zero, all(kHuge));
    }

    SHIFTLEARN_METHOD void fill() {
        const Lanes zero = all(0.0);
        for (int b = 0; b < nv_; ++b) {
            double f[kLanes], low[kLanes], high[kLanes], diag[kLanes];
            for (int l = 0; l < kLanes; ++l) {
                const std::int64_t i = static_cast<std::int64_t>(b) * kLanes + l;
                const bool real = i < n_;
                const double sign = real ? batch_.signs[from_ + i] : 0.0;
                const double end = real ? sign * batch_.upper[from_ + i] : 0.0;
                f[l] = real ? -sign * batch_.linear[from_ + i] : 0.0;
                low[l] = least(end, 0.0);
                high[l] = most(end, 0.0);
                diag[l] = real ? gram_row(i)[i] : 0.0;
            }
            f_()[b] = load(f), beta_()[b] = zero, low_()[b] = load(low);
            high_()[b] = load(high), diag_()[b] = load(diag);
            mark_bounds(b);
        }
        next_leap_ = 2 * n_ + 32;
    }

    // A given alpha, clipped to the box; with the constraint the larger side is scaled down, unless
    // only rounding separates the two (scaling would move variables off their bounds).
    void begin_at(const double *first) {
        double side[2] = {0.0, 0.0};
        for (std::int64_t i = 0; i < n_; ++i)
            side[batch_.signs[from_ + i] > 0] += within(first[i], 0.0, batch_.upper[from_ + i]);
        const double total = least(side[0], side[1]), most_kept = total * (1.0 + 1e-13);
        for (std::int64_t i = 0; i < n_; ++i) {
            const double sign = batch_.signs[from_ + i], mine = side[sign > 0];
            const double a = within(first[i], 0.0, batch_.upper[from_ + i]);
            const bool scale = batch_.intercept && mine > most_kept;
            const double given = scale ? a * (total / mine) : a;
            set(beta_(), i, sign * given);
            if (batch_.intercept) peak_ = most(peak_, given);
        }
        for (int b = 0; b < nv_; ++b) mark_bounds(b);
        refresh();
    }

    // F from scratch: what the steps added up in rounding errors goes away.
    SHIFTLEARN_METHOD void refresh() {
        for (int b = 0; b < nv_; ++b) {
            double f[kLanes];
            for (int l = 0; l < kLanes; ++l) {
                const std::int64_t i = static_cast<std::int64_t>(b) * kLanes + l;
                f[l] = i < n_ ? -batch_.signs[from_ + i] * batch_.linear[from_ + i] : 0.0;
            }
            f_()[b] = load(f);
        }
        for (std::int64_t j = 0; j < n_; ++j) {
            const double beta = get(beta_(), j);
            if (beta == 0.0) continue;
            const Lanes factor = all(-beta);
            const double *row = gram_row(j);
            for (int b = 0; b < nv_; ++b) f_()[b] = fma(factor, load(row + b * kLanes), f_()[b]);
        }
    }

    SHIFTLEARN_METHOD Lanes moved(const Pair &step, const double *const row[2], int b) {
        Lanes f = fma(all(-step.first), load(row[0] + b * kLanes), f_()[b]);
        f = fma(all(-step.second), load(row[1] + b * kLanes), f);
        f_()[b] = f;
        return f;
    }

    // Takes the last step into F and finds the steepest variable that can grow.
    SHIFTLEARN_METHOD double scan_pairs(const Pair &step, const double *const row[2]) {
        Best best{all(-kHuge), all(0.0)};
        Lanes bottom = all(-kHuge);
        for (int b = 0; b < nv_; ++b) {
            const Lanes f = moved(step, row, b);
            keep_larger(best, f + grows_()[b], b);
            bottom = larger(bottom, all(0.0) - (f + shrinks_()[b]));
        }
        top_ = largest(best.value);
        floor_ = -largest(bottom);
        lead_ = position<NV>(best, top_);
        if (!bounded_below() || !bounded_above()) return 0.0;
        return top_ - floor_;
    }

    // Partner by the largest decrease of the objective, then the step that attains it in the box.
    SHIFTLEARN_METHOD bool step_pair(Pair &step, const double *row[2]) {
        const std::int64_t i = lead_;
        row[0] = gram_row(i);
        const Lanes top = all(top_), own = all(row[0][i]), zero = all(0.0);
        Best best{zero, zero};
        for (int b = 0; b < nv_; ++b) {
            const Lanes drop = larger(top - (f_()[b] + shrinks_()[b]), zero);
            const Lanes sum = own + diag_()[b];
            const Lanes curve = fma(all(-2.0), load(row[0] + b * kLanes), sum);
            const Lanes safe = larger(curve, fma(all(1e-14), sum, all(kTiny)));
            keep_larger(best, drop * (drop * about_inverse(safe)), b);
        }
        const std::int64_t j = position<NV>(best, largest(best.value));
        row[1] = gram_row(j);
        const double sum = row[0][i] + row[1][j];
        const double curve = most(sum - 2 * row[0][j], 1e-14 * sum + kTiny);
        const double room_i = get(high_(), i) - get(beta_(), i);
        const double room_j = get(beta_(), j) - get(low_(), j);
        const double move = least((top_ - get(f_(), j)) / curve, least(room_i, room_j));
        step = {settle(i, move), settle(j, -move)};
        return step.first != 0.0 || step.second != 0.0;
    }

    // Moves beta_i by about d; returns by how much it moved. The constraint carries the rounding of
    // the largest beta to all others.
    SHIFTLEARN_METHOD double settle(std::int64_t i, double d) {
        const double before = get(beta_(), i);
        const double after = settled(before, d, get(low_(), i), get(high_(), i), peak_);
        if (batch_.intercept) peak_ = most(peak_, magnitude(after));
        set(beta_(), i, after);
        mark_bounds(NV == 1 ? 0 : i / kLanes);
        return after - before;
    }

    SHIFTLEARN_METHOD Lanes pull(Lanes f, int b) {
        const Lanes down = all(0.0) - (f + shrinks_()[b]);
        return larger(larger(f + grows_()[b], down), all(0.0));
    }

    // Takes the last step into F and finds the variable whose own step gains most.
    SHIFTLEARN_METHOD double scan_single(const Pair &step, const double *const row[2]) {
        Best best{all(-1.0), all(0.0)};
        Lanes top = all(0.0);
        for (int b = 0; b < nv_; ++b) {
            const Lanes p = pull(moved(step, row, b), b);
            top = larger(top, p);
            keep_larger(best, p * (p * about_inverse(larger(diag_()[b], all(kTiny)))), b);
        }
        lead_ = position<NV>(best, largest(best.value));
        return largest(top);
    }

    // A partner for it: the one that gains most once the first has moved; then both exactly.
    SHIFTLEARN_METHOD bool step_single(Pair &step, const double *row[2]) {
        const std::int64_t i = lead_;
        row[0] = row[1] = gram_row(i);
        const double low_i = get(low_(), i) - get(beta_(), i), high_i = get(high_(), i) - get(beta_(), i);
        const double own = row[0][i], f_i = get(f_(), i);
        const double alone = best_move(f_i, own, low_i, high_i);
        const bool inside = alone > low_i && alone < high_i && own > 0;
        const std::int64_t j = partner(i, row[0], alone, inside ? -1.0 / own : 0.0);
        if (j < 0) {
            step = {settle(i, alone), 0.0};
            return step.first != 0.0;
        }
        row[1] = gram_row(j);
        const double f[2] = {f_i, get(f_(), j)};
        const double low[2] = {low_i, get(low_(), j) - get(beta_(), j)};
        const double high[2] = {high_i, get(high_(), j) - get(beta_(), j)};
        const Pair d = best_pair(f, own, row[1][j], row[0][j], low, high);
        step = {settle(i, d.first), settle(j, d.second)};
        return step.first != 0.0 || step.second != 0.0;
    }

    SHIFTLEARN_METHOD std::int64_t partner(std::int64_t i, const double *row, double alone, double bend) {
        set(grows_(), i, -kHuge);
        set(shrinks_(), i, kHuge);
        Best best{all(0.0), all(0.0)};
        for (int b = 0; b < nv_; ++b) {
            const Lanes k = load(row + b * kLanes);
            const Lanes p = pull(fma(all(-alone), k, f_()[b]), b);
            const Lanes curve = fma(all(bend) * k, k, diag_()[b]);
            const Lanes safe = larger(curve, fma(all(1e-12), diag_()[b], all(kTiny)));
            keep_larger(best, p * (p * about_inverse(safe)), b);
        }
        const double gain = largest(best.value);
        return gain > 0.0 ? position<NV>(best, gain) : -1;
    }

    bool bounded_below() const { return top_ > -0.5 * kHuge; }
    bool bounded_above() const { return floor_ < 0.5 * kHuge; }

    // Steps along two variables crawl where the optimum lies far away along a direction of many
    // variables and little curvature (K singular, C large). So now and then: conjugate gradients
    // over the free variables, begun anew whenever a variable reaches its bound.
    SHIFTLEARN_METHOD void leap() {
        const std::int64_t most_moves = 2 * n_ + 2 < kMovesOfLeap ? 2 * n_ + 2 : kMovesOfLeap;
        double before = 0.0;
        for (std::int64_t move = 0; move < most_moves && n_iter_ < batch_.max_iter; ++move) {
            const double size = take_aim(before);
            if (!(size > 1e-4 * batch_.tol * batch_.tol)) break;
            bend_along_way();
            std::int64_t hit = -1;
            const double room = room_along_way(hit), length = length_of_move(room);
            if (hit < 0 || !(length > 0.0)) break;
            const bool bounded = length == room;
            move_on(length, bounded ? hit : -1);
            before = bounded ? 0.0 : size;
            ++n_iter_;
        }
        next_leap_ = n_iter_ + 2 * n_ + 32;
    }

    // The next conjugate direction: the slope of the free variables (without its mean, which the
    // constraint forbids) plus a part of the last direction. Returns the squared slope.
    SHIFTLEARN_METHOD double take_aim(double before) {
        double mean = 0.0, size = 0.0, sum = 0.0;
        std::int64_t free = 0, longest = 0;
        for (std::int64_t i = 0; i < n_; ++i)
            if (is_free(i)) mean += get(f_(), i), ++free;
        mean = batch_.intercept && free ? mean / static_cast<double>(free) : 0.0;
        for (std::int64_t i = 0; i < n_; ++i)
            if (is_free(i)) size += (get(f_(), i) - mean) * (get(f_(), i) - mean);
        const double keep = before > 0.0 ? size / before : 0.0;
        for (std::int64_t i = 0; i < n_; ++i) {
            double way = 0.0;
            if (is_free(i)) way = get(f_(), i) - mean + (keep > 0.0 ? keep * get(way_(), i) : 0.0);
            set(way_(), i, way);
            sum += way;
            if (magnitude(way) > magnitude(get(way_(), longest))) longest = i;
        }
        // A long move would multiply what rounding left of the sum.
        if (batch_.intercept) set(way_(), longest, get(way_(), longest) - sum);
        return size;
    }

    SHIFTLEARN_METHOD bool is_free(std::int64_t i) {
        const double beta = get(beta_(), i);
        return beta > get(low_(), i) && beta < get(high_(), i);
    }

    SHIFTLEARN_METHOD double room_along_way(std::int64_t &hit) {
        double room = kHuge;
        for (std::int64_t i = 0; i < n_; ++i) {
            const double way = get(way_(), i);
            if (way == 0.0) continue;
            const double left = (way > 0 ? get(high_(), i) : get(low_(), i)) - get(beta_(), i);
            if (left / way < room) room = left / way, hit = i;
        }
        return room;
    }

    SHIFTLEARN_METHOD double length_of_move(double room) {
        double slope = 0.0, curve = 0.0, scale = 0.0;
        for (std::int64_t i = 0; i < n_; ++i) {
            const double way = get(way_(), i);
            slope += get(f_(), i) * way;
            curve += get(bend_(), i) * way;
            scale += get(diag_(), i) * way * way;
        }
        return best_move(slope, curve > 1e-14 * scale ? curve : 0.0, 0.0, room);
    }

    SHIFTLEARN_METHOD void bend_along_way() {
        for (int b = 0; b < nv_; ++b) bend_()[b] = all(0.0);
        for (std::int64_t j = 0; j < n_; ++j) {
            const Lanes factor = all(get(way_(), j));
            const double *row = gram_row(j);
            for (int b = 0; b < nv_; ++b)
                bend_()[b] = fma(factor, load(row + b * kLanes), bend_()[b]);
        }
    }

    SHIFTLEARN_METHOD void move_on(double length, std::int64_t hit) {
        for (std::int64_t i = 0; i < n_; ++i) {
            const double way = get(way_(), i);
            if (i == hit) set(beta_(), i, way > 0 ? get(high_(), i) : get(low_(), i));
            else settle(i, length * way);
        }
        for (int b = 0; b < nv_; ++b) {
            f_()[b] = fma(all(-length), bend_()[b], f_()[b]);
            mark_bounds(b);
        }
    }

    SHIFTLEARN_METHOD bool interrupted() {
        if (n_iter_ % kStepsBetweenStops || n_iter_ == 0 || !batch_.stop) return false;
        return batch_.stop(batch_.stop_context);
    }

    // Mean slope of the free variables; without one the middle of the optimal interval, or, where
    // that is unbounded, its point nearest to zero.
    double bias() {
        if (!batch_.intercept) return 0.0;
        double sum = 0.0;
        std::int64_t free = 0;
        for (std::int64_t i = 0; i < n_; ++i) {
            if (is_free(i)) sum += get(f_(), i), ++free;
        }
        if (free) return sum / static_cast<double>(free);
        if (bounded_below() && bounded_above()) return 0.5 * (top_ + floor_);
        return within(0.0, top_, floor_);
    }

    const Batch &batch_;
    const std::int64_t from_, n_;
    const int nv_;
    const std::int64_t stride_;
    const double *gram_;
    Lanes own_[kStateVectors * (NV ? NV : 1)];
    Lanes *lent_ = nullptr;
    std::int64_t lead_ = 0, n_iter_ = 0, next_leap_ = 0;
    double peak_ = 0.0, top_ = -kHuge, floor_ = kHuge, violation_ = 0.0;
};

}  // namespace
}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
