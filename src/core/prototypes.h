// Ensembles of linear models over rows: what the bindings (prototypes.cpp) and the vector code
// (prototypes_simd.cpp, once per instruction set) tell each other. Plain data only.
//
// Models lie in panels of eight, every class beginning a panel of its own, so that a panel knows
// its class. Empty places hold w = 0, b = -1: such a model never fires.
#pragma once

#include <cstdint>

namespace shiftlearn {

// Row-major dense values, or CSR with sorted columns (pointers not null).
struct TableRows {
    const double *values = nullptr;
    const std::int32_t *columns = nullptr;
    const std::int64_t *pointers = nullptr;
    std::int64_t n_columns = 0;
};

// coef[(panel * n_columns + column) * 8 + lane]
struct ModelPanels {
    const double *coef = nullptr, *bias = nullptr;
    const double *slope = nullptr, *offset = nullptr, *cap = nullptr;  // Platt's A, B, largest score
    const double *exemplars = nullptr;        // rows of the exemplars, laid out like coef (dense)
    const std::int64_t *exemplar = nullptr;   // row of each place's exemplar, -1 for empty places
    const std::int64_t *class_panels = nullptr;  // class c owns panels [class_panels[c], [c + 1])
    std::int64_t n_classes = 0;
};

struct Votes {
    double *sums = nullptr;     // n_rows x n_classes: probabilities of the models, added up
    double *largest = nullptr;  // n_rows x n_classes: largest score
    std::uint8_t *fires = nullptr;  // whether some model fires on the row
    bool every = false;         // add up all models instead of the firing ones
};

struct Hit {
    std::int64_t place, row;
};

struct Shift {
    const std::int32_t *codes = nullptr;
    bool own = false;            // whether an exemplar may claim itself
    double rate = 0.0;
    std::uint64_t key = 0;
    std::int64_t *claims = nullptr;  // place of the claiming model, -1 for none
    std::int64_t *same = nullptr;    // for each place: rows of its class that it fires on
    std::int64_t *other = nullptr;   // rows of other classes
    std::uint8_t *self = nullptr;    // whether it fires on its exemplar
    void (*hit)(void *, Hit) = nullptr;  // called for each hard negative drawn
    void *context = nullptr;
};

typedef void (*VoteRows)(const TableRows &, const ModelPanels &, std::int64_t from, std::int64_t to,
                         Votes &);
typedef void (*ShiftRows)(const TableRows &, const ModelPanels &, std::int64_t from, std::int64_t to,
                          Shift &);
typedef void (*ScorePairs)(const TableRows &, const double *coef, double bias,
                           const std::int64_t *rows, std::int64_t n, double *out);
// Squared distances of one row to all rows; panels[(p * n_columns + column) * 8 + lane] holds the
// rows of a dense table (null for CSR).
typedef void (*Distances)(const TableRows &, const double *panels, std::int64_t n_rows,
                          std::int64_t row, double *out);
// <x_far - x_row, x_j - x_row>
typedef double (*SideOf)(const TableRows &, std::int64_t row, std::int64_t far, std::int64_t j);

#define SHIFTLEARN_PROTOTYPES(set)                                                              \
    namespace set {                                                                             \
    void vote_rows(const TableRows &, const ModelPanels &, std::int64_t, std::int64_t, Votes &); \
    void shift_rows(const TableRows &, const ModelPanels &, std::int64_t, std::int64_t, Shift &); \
    void score_pairs(const TableRows &, const double *, double, const std::int64_t *,           \
                     std::int64_t, double *);                                                   \
    void distances(const TableRows &, const double *, std::int64_t, std::int64_t, double *);    \
    double side_of(const TableRows &, std::int64_t, std::int64_t, std::int64_t);                \
    }
SHIFTLEARN_PROTOTYPES(isa_portable)
SHIFTLEARN_PROTOTYPES(isa_avx2)
SHIFTLEARN_PROTOTYPES(isa_avx512)
#undef SHIFTLEARN_PROTOTYPES

}  // namespace shiftlearn
