// Threads of our own: they live as long as the call that started them, so that fork() is safe
// between calls, and they never enter a multi-threaded BLAS.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace shiftlearn {

// Runs body(task, worker) for task = 0..n_tasks-1 on up to n_threads threads (the calling one
// included), tasks handed out in order. The first exception of any worker is rethrown here.
template <class Body>
void parallel_for(long n_tasks, int n_threads, const Body &body) {
    if (n_threads > n_tasks) n_threads = static_cast<int>(n_tasks);
    if (n_threads <= 1) {
        for (long t = 0; t < n_tasks; ++t) body(t, 0);
        return;
    }
    std::atomic<long> next{0};
    std::exception_ptr error;
    std::mutex guard;
    auto work = [&](int worker) {
        try {
            for (long t; (t = next.fetch_add(1)) < n_tasks;) body(t, worker);
        } catch (...) {
            next = n_tasks;
            std::lock_guard<std::mutex> lock(guard);
            if (!error) error = std::current_exception();
        }
    };
    std::vector<std::thread> pool;
    for (int w = 1; w < n_threads; ++w) pool.emplace_back(work, w);
    work(0);
    for (auto &thread : pool) thread.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace shiftlearn
