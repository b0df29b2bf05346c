// Work on boxes, shared among threads.

#pragma once
#include "tape.hpp"

#include <atomic>
#include <exception>
#include <new>
#include <thread>
#include <vector>

// Calls `part(from, to)` for parts of the boxes, of four at least, each on a thread of its own; false without memory.
template <class Part> static bool share(int64_t count, int64_t threads, Part part) {
    int64_t blocks = (count + 3) / 4;
    if (threads > blocks) threads = blocks;
    if (threads < 1) threads = 1;
    std::atomic<bool> done{true};
    auto careful = [&](int64_t k) {
        int64_t from = 4 * (blocks * k / threads), to = 4 * (blocks * (k + 1) / threads);
        Ordinary arithmetic;
        try {
            part(from, to < count ? to : count);
        } catch (const std::bad_alloc&) {
            done = false;
        }
    };
    std::vector<std::thread> others;
    int64_t started = 1;
    try {
        for (; started < threads; started++) others.emplace_back(careful, started);
    } catch (const std::exception&) {  // no more threads: what is left is done here
    }
    careful(0);
    for (int64_t k = started; k < threads; k++) careful(k);
    for (std::thread& t : others) t.join();
    return done;
}
