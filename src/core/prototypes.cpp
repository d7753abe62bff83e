// Bindings, threads and panels of the prototype ensembles; the arithmetic is in prototypes_simd.cpp.
#include "prototypes.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cpu.h"
#include "threads.h"

namespace nb = nanobind;

namespace shiftlearn {
namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

constexpr std::int64_t kWidth = 8;    // models in a panel
constexpr std::int64_t kTask = 64;    // rows a thread takes at a time
constexpr std::int64_t kPairs = 512;  // models whose own rows a thread scores at a time

#if defined(SHIFTLEARN_X86)
#define SHIFTLEARN_CHOSEN(name)                               \
    (isa() == Isa::avx512 ? isa_avx512::name                  \
                          : isa() == Isa::avx2 ? isa_avx2::name : isa_portable::name)
#else
#define SHIFTLEARN_CHOSEN(name) (isa_portable::name)
#endif

TableRows table(const In<double> &values, const std::optional<In<std::int32_t>> &columns,
                const std::optional<In<std::int64_t>> &pointers, std::int64_t n_columns) {
    TableRows x;
    x.values = values.data();
    x.n_columns = n_columns;
    if (columns && pointers) x.columns = columns->data(), x.pointers = pointers->data();
    return x;
}

// The models of every class side by side in panels of eight.
class Panels {
public:
    Panels(std::int64_t d, const In<double> &coef, const In<double> &figures,
           const In<std::int64_t> &order, const In<std::int64_t> &starts)
        : d_(d), classes_{0} {
        const std::int64_t n_classes = static_cast<std::int64_t>(starts.size()) - 1;
        for (std::int64_t c = 0; c < n_classes; ++c) {
            const std::int64_t *first = order.data() + starts.data()[c];
            model_.insert(model_.end(), first, order.data() + starts.data()[c + 1]);
            model_.resize((model_.size() + kWidth - 1) / kWidth * kWidth, -1);
            classes_.push_back(static_cast<std::int64_t>(model_.size()) / kWidth);
        }
        const std::int64_t n = places(), m = static_cast<std::int64_t>(order.size());
        coef_ = rows_of(coef.data(), model_);
        const double empty[4] = {-1e300, 0.0, std::numeric_limits<double>::infinity(), 0.0};
        for (int k = 0; k < 4; ++k) {  // intercept, slope, offset, cap
            figures_[k].resize(static_cast<std::size_t>(n));
            for (std::int64_t i = 0; i < n; ++i)
                figures_[k][i] = model_[i] < 0 ? empty[k] : figures.data()[k * m + model_[i]];
        }
    }

    void lay_exemplars(const TableRows &x, const In<std::int64_t> &exemplar) {
        row_.assign(model_.size(), -1);
        for (std::size_t i = 0; i < model_.size(); ++i)
            if (model_[i] >= 0) row_[i] = exemplar.data()[model_[i]];
        if (!x.pointers) exemplars_ = rows_of(x.values, row_);
    }

    ModelPanels view() const {
        ModelPanels m;
        m.coef = coef_.data(), m.bias = figures_[0].data(), m.slope = figures_[1].data();
        m.offset = figures_[2].data(), m.cap = figures_[3].data();
        m.exemplars = exemplars_.data(), m.exemplar = row_.data();
        m.class_panels = classes_.data();
        m.n_classes = static_cast<std::int64_t>(classes_.size()) - 1;
        return m;
    }

    std::int64_t places() const { return static_cast<std::int64_t>(model_.size()); }
    std::int64_t model(std::int64_t place) const { return place < 0 ? -1 : model_[place]; }

private:
    std::vector<double> rows_of(const double *rows, const std::vector<std::int64_t> &which) const {
        std::vector<double> out(which.size() * static_cast<std::size_t>(d_));
        for (std::size_t i = 0; i < which.size(); ++i) {
            if (which[i] < 0) continue;
            const double *row = rows + which[i] * d_;
            double *panel = out.data() + i / kWidth * kWidth * d_ + i % kWidth;
            for (std::int64_t k = 0; k < d_; ++k) panel[k * kWidth] = row[k];
        }
        return out;
    }

    std::int64_t d_;
    std::vector<std::int64_t> model_, classes_, row_;
    std::vector<double> coef_, exemplars_, figures_[4];
};

template <class Body>
void by_rows(std::int64_t from, std::int64_t to, int n_threads, const Body &body) {
    const long tasks = static_cast<long>((to - from + kTask - 1) / kTask);
    parallel_for(tasks, n_threads, [&](long t, int worker) {
        const std::int64_t first = from + t * kTask;
        body(first, std::min(first + kTask, to), worker);
    });
}

void vote(const In<double> &values, const std::optional<In<std::int32_t>> &columns,
          const std::optional<In<std::int64_t>> &pointers, std::int64_t n_columns,
          const In<double> &coef, const In<double> &figures, const In<std::int64_t> &order,
          const In<std::int64_t> &starts, bool every, const Out<double> &sums,
          const Out<double> &largest, const Out<std::uint8_t> &fires, int n_threads) {
    const TableRows x = table(values, columns, pointers, n_columns);
    Votes votes{sums.data(), largest.data(), fires.data(), every};
    const VoteRows run = SHIFTLEARN_CHOSEN(vote_rows);
    nb::gil_scoped_release released;
    const Panels panels(n_columns, coef, figures, order, starts);
    const ModelPanels view = panels.view();
    by_rows(0, static_cast<std::int64_t>(fires.size()), n_threads,
            [&](std::int64_t from, std::int64_t to, int) { run(x, view, from, to, votes); });
}

struct Worker {
    std::vector<std::int64_t> same, other;
    std::vector<std::uint8_t> self;
    std::vector<Hit> hits;
    static void keep(void *me, Hit hit) { static_cast<Worker *>(me)->hits.push_back(hit); }
};

nb::object hits_as_array(const std::vector<Worker> &workers, const Panels &panels) {
    std::size_t n = 0;
    for (const Worker &w : workers) n += w.hits.size();
    auto *flat = new std::vector<std::int64_t>;
    flat->reserve(2 * n);
    for (const Worker &w : workers)
        for (const Hit &hit : w.hits) {
            flat->push_back(panels.model(hit.place));
            flat->push_back(hit.row);
        }
    nb::capsule owner(flat, [](void *p) noexcept { delete static_cast<std::vector<std::int64_t> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(flat->data(), {n, std::size_t(2)}, owner));
}

nb::object shift(const In<double> &values, const std::optional<In<std::int32_t>> &columns,
                 const std::optional<In<std::int64_t>> &pointers, std::int64_t n_columns,
                 const In<double> &coef, const In<double> &figures, const In<std::int64_t> &order,
                 const In<std::int64_t> &starts, const In<std::int64_t> &exemplar,
                 const In<std::int32_t> &codes, bool own, double rate, std::uint64_t key,
                 std::int64_t from, std::int64_t to, const Out<std::int64_t> &claims,
                 const Out<std::int64_t> &counts, int n_threads) {
    const TableRows x = table(values, columns, pointers, n_columns);
    const ShiftRows run = SHIFTLEARN_CHOSEN(shift_rows);
    std::optional<Panels> panels;
    std::vector<Worker> workers(static_cast<std::size_t>(std::max(1, n_threads)));
    {
        nb::gil_scoped_release released;
        panels.emplace(n_columns, coef, figures, order, starts);
        panels->lay_exemplars(x, exemplar);
        const ModelPanels view = panels->view();
        const std::size_t n = static_cast<std::size_t>(panels->places());
        for (Worker &w : workers) w.same.assign(n, 0), w.other.assign(n, 0), w.self.assign(n, 0);
        by_rows(from, to, n_threads, [&](std::int64_t first, std::int64_t last, int worker) {
            Worker &w = workers[worker];
            Shift s;
            s.codes = codes.data(), s.own = own, s.rate = rate, s.key = key;
            s.claims = claims.data(), s.same = w.same.data(), s.other = w.other.data();
            s.self = w.self.data(), s.hit = Worker::keep, s.context = &w;
            run(x, view, first, last, s);
        });
        const std::int64_t m = static_cast<std::int64_t>(order.size());
        for (std::int64_t i = 0; i < panels->places(); ++i) {
            const std::int64_t model = panels->model(i);
            if (model < 0) continue;
            for (const Worker &w : workers) {
                counts.data()[model] += w.same[i];
                counts.data()[m + model] += w.other[i];
                counts.data()[2 * m + model] |= w.self[i];
            }
        }
        for (std::int64_t i = from; i < to; ++i) claims.data()[i] = panels->model(claims.data()[i]);
    }
    return hits_as_array(workers, *panels);
}

void pairs(const In<double> &values, const std::optional<In<std::int32_t>> &columns,
           const std::optional<In<std::int64_t>> &pointers, std::int64_t n_columns,
           const In<double> &coef, const In<double> &bias, const In<std::int64_t> &starts,
           const In<std::int64_t> &rows, const Out<double> &out, int n_threads) {
    const TableRows x = table(values, columns, pointers, n_columns);
    const ScorePairs run = SHIFTLEARN_CHOSEN(score_pairs);
    const std::int64_t m = static_cast<std::int64_t>(bias.size());
    nb::gil_scoped_release released;
    parallel_for(static_cast<long>((m + kPairs - 1) / kPairs), n_threads, [&](long task, int) {
        for (std::int64_t i = task * kPairs; i < std::min((task + 1) * kPairs, m); ++i) {
            const std::int64_t at = starts.data()[i], n = starts.data()[i + 1] - at;
            run(x, coef.data() + i * n_columns, bias.data()[i], rows.data() + at, n, out.data() + at);
        }
    });
}

using Candidate = std::pair<double, std::int64_t>;

// Walks the other classes' rows by distance, ties by position, and keeps those on the near side.
std::int64_t choose_negatives(const TableRows &x, std::int64_t row, std::int64_t k,
                              std::vector<Candidate> &found, std::int64_t *out) {
    const SideOf side = SHIFTLEARN_CHOSEN(side_of);
    std::int64_t kept = 0;
    std::size_t sorted = 0, chunk = static_cast<std::size_t>(4 * k);
    while (sorted < found.size() && kept < k) {
        const std::size_t end = std::min(sorted + chunk, found.size());
        if (end < found.size())
            std::nth_element(found.begin() + sorted, found.begin() + end, found.end());
        std::sort(found.begin() + sorted, found.begin() + end);
        for (; sorted < end && kept < k; ++sorted)
            if (side(x, row, found[0].second, found[sorted].second) > 0.0)
                out[kept++] = found[sorted].second;
        chunk *= 4;
    }
    return kept;
}

void negatives(const In<double> &values, const std::optional<In<std::int32_t>> &columns,
               const std::optional<In<std::int64_t>> &pointers, std::int64_t n_columns,
               const In<std::int32_t> &codes, const In<std::int64_t> &exemplars, std::int64_t k,
               const Out<std::int64_t> &answer, int n_threads) {
    const TableRows x = table(values, columns, pointers, n_columns);
    const Distances measure = SHIFTLEARN_CHOSEN(distances);
    const std::int64_t n = static_cast<std::int64_t>(codes.size()), d = n_columns;
    const std::int64_t m = static_cast<std::int64_t>(exemplars.size());
    nb::gil_scoped_release released;
    std::vector<double> panels;
    if (!x.pointers) {
        panels.assign(static_cast<std::size_t>((n + kWidth - 1) / kWidth * kWidth * d), 0.0);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t c = 0; c < d; ++c)
                panels[(i / kWidth * d + c) * kWidth + i % kWidth] = x.values[i * d + c];
    }
    std::vector<std::vector<double>> distance(static_cast<std::size_t>(std::max(1, n_threads)));
    std::vector<std::vector<Candidate>> found(distance.size());
    constexpr std::int64_t kGroup = 16;
    parallel_for(static_cast<long>((m + kGroup - 1) / kGroup), n_threads, [&](long task, int worker) {
        std::vector<double> &squared = distance[worker];
        std::vector<Candidate> &list = found[worker];
        squared.resize(static_cast<std::size_t>(n));
        for (std::int64_t e = task * kGroup; e < std::min((task + 1) * kGroup, m); ++e) {
            const std::int64_t row = exemplars.data()[e];
            measure(x, panels.data(), n, row, squared.data());
            list.clear();
            for (std::int64_t j = 0; j < n; ++j)
                if (codes.data()[j] != codes.data()[row] && squared[j] > 0.0)
                    list.emplace_back(squared[j], j);
            std::int64_t *out = answer.data() + e * k;
            std::fill(out + choose_negatives(x, row, k, list, out), out + k, std::int64_t(-1));
        }
    });
}

}  // namespace

void bind_prototypes(nb::module_ &m) {
    m.def("prototype_vote", &vote, nb::arg("values"), nb::arg("columns").none(),
          nb::arg("pointers").none(), nb::arg("n_columns"), nb::arg("coef"), nb::arg("figures"),
          nb::arg("order"), nb::arg("starts"), nb::arg("every"), nb::arg("sums"),
          nb::arg("largest"), nb::arg("fires"), nb::arg("n_threads"),
          "Probabilities of the firing models and largest scores, by row and class.");
    m.def("prototype_shift", &shift, nb::arg("values"), nb::arg("columns").none(),
          nb::arg("pointers").none(), nb::arg("n_columns"), nb::arg("coef"), nb::arg("figures"),
          nb::arg("order"), nb::arg("starts"), nb::arg("exemplar"), nb::arg("codes"),
          nb::arg("own"), nb::arg("rate"), nb::arg("key"), nb::arg("from_row"), nb::arg("to_row"),
          nb::arg("claims"), nb::arg("counts"), nb::arg("n_threads"),
          "Claims and counts of one shift; returns the hard negatives drawn as (model, row).");
    m.def("prototype_pairs", &pairs, nb::arg("values"), nb::arg("columns").none(),
          nb::arg("pointers").none(), nb::arg("n_columns"), nb::arg("coef"), nb::arg("bias"),
          nb::arg("starts"), nb::arg("rows"), nb::arg("out"), nb::arg("n_threads"),
          "Scores of every model on its own list of rows.");
    m.def("prototype_negatives", &negatives, nb::arg("values"), nb::arg("columns").none(),
          nb::arg("pointers").none(), nb::arg("n_columns"), nb::arg("codes"),
          nb::arg("exemplars"), nb::arg("k"), nb::arg("answer"), nb::arg("n_threads"),
          "Nearest rows of other classes on the near side of each exemplar; -1 where none is left.");
}

}  // namespace shiftlearn
