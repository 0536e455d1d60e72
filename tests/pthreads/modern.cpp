// SPDX-License-Identifier: BSD-3-Clause
// modern.cpp - threads of C++20: jthread, stop_token, waits for atomic objects, semaphores, barriers, latches.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace std::chrono_literals;

static std::atomic<int> word, token;
static std::atomic<long> wide;
static std::atomic<bool> flag;
static std::atomic_flag signalled;
static std::counting_semaphore<4> few(1); // with more, the C++ library of gcc 12 loses wakeups
static std::binary_semaphore ready(0);
static std::mutex lock;
static int inside, most, phases, stopped;

static void atomics(int n)
{
	std::vector<std::jthread> threads;

	for (int i = 0; i < n; i++)
		threads.emplace_back([i, n] {
			for (int k = 0; k < 10; k++) {
				int seen;
				while ((seen = token) % n != i)
					token.wait(seen);
				token++;
				token.notify_all();
			}
			word.wait(0);
			wide.wait(0);
			flag.wait(false);
			signalled.wait(false);
		});
	std::this_thread::sleep_for(5ms);
	word = 1;
	word.notify_all();
	wide = 1;
	wide.notify_all();
	flag = true;
	flag.notify_all();
	signalled.test_and_set();
	signalled.notify_all();
	threads.clear();
	printf("token %d\n", token - 10 * n);
}

static void semaphores(int n)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < n; i++)
		threads.emplace_back([] {
			for (int k = 0; k < 10; k++) {
				few.acquire();
				{
					std::lock_guard<std::mutex> guard(lock);
					most = ++inside > most ? inside : most;
				}
				std::lock_guard<std::mutex> guard(lock);
				inside--;
				few.release();
			}
		});
	for (auto &t : threads)
		t.join();
	std::jthread([] { ready.release(); }).detach();
	ready.acquire();
	bool again = ready.try_acquire_for(20ms), none = ready.try_acquire();
	printf("most %d, %d %d\n", most <= 2, again, none);
}

static void barriers(int n)
{
	std::latch begun(n + 1);
	std::barrier meet(n, []() noexcept { phases++; });
	std::vector<std::jthread> threads;
	std::vector<int> row(static_cast<size_t>(n));
	std::atomic<int> wrong = 0;

	for (int i = 0; i < n; i++)
		threads.emplace_back([&, i] {
			begun.arrive_and_wait();
			for (int k = 1; k <= 10; k++) {
				row[static_cast<size_t>(i)] = k;
				meet.arrive_and_wait();
				for (int x : row)
					wrong += x != k;
				meet.arrive_and_wait();
			}
			meet.arrive_and_drop();
		});
	begun.arrive_and_wait();
	threads.clear();
	printf("phases %d, wrong %d\n", phases, wrong.load());
}

static void stops(int n)
{
	std::vector<std::jthread> threads;
	std::condition_variable_any changed;
	std::shared_mutex shared;

	for (int i = 0; i < n; i++)
		threads.emplace_back([&, i](std::stop_token stop) {
			std::atomic<bool> called = false;
			std::stop_callback callback(stop, [&] {
				std::lock_guard<std::mutex> guard(lock);
				stopped++;
				called = true;
			});
			if (i % 2) {
				std::unique_lock<std::shared_mutex> guard(shared);
				changed.wait(guard, stop, [] { return false; });
			}
			while (!called) /* a callback that is destroyed before its turn is not called */
				std::this_thread::yield();
		});
	std::this_thread::sleep_for(5ms);
	for (auto &t : threads)
		t.request_stop();
	threads.clear();
	printf("stops %d\n", stopped - n);
	std::condition_variable_any never;
	std::unique_lock<std::mutex> guard(lock);
	printf("late %d\n", never.wait_for(guard, 10ms) == std::cv_status::timeout);
}

static void futures()
{
	std::packaged_task<int(int)> task([](int x) { return 2 * x; });
	auto doubled = task.get_future();
	std::jthread runs(std::move(task), 21);
	auto lazy = std::async(std::launch::deferred, [] { return 1; });
	printf("task %d %d\n", doubled.get(), lazy.get());
	std::once_flag once;
	int calls = 0;
	for (int i = 0; i < 2; i++)
		try {
			std::call_once(once, [&] {
				if (!calls++)
					throw 1;
			});
		} catch (int) {
			printf("thrown\n");
		}
	printf("calls %d\n", calls);
}

static std::shared_ptr<std::vector<int>> shared = std::make_shared<std::vector<int>>(1, 0);

static void pointers(int n)
{
	std::vector<std::jthread> threads;

	for (int i = 0; i < n; i++)
		threads.emplace_back([] {
			for (int k = 0; k < 20; k++) {
				auto was = std::atomic_load(&shared);
				std::shared_ptr<std::vector<int>> now;
				do
					now = std::make_shared<std::vector<int>>(1, (*was)[0] + 1);
				while (!std::atomic_compare_exchange_strong(&shared, &was, now));
			}
		});
	threads.clear();
	printf("pointers %d\n", (*shared)[0] - 20 * n);
}

/* A wait for a word that nothing wakes ends once, without a wake. */
static int look()
{
	static unsigned waits;

	return static_cast<int>(syscall(SYS_futex, &waits, FUTEX_WAIT_PRIVATE, 0, nullptr));
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		std::thread other([] { printf("looks again %d\n", look()); });
		other.join();
		return 0;
	}
	int n = argc > 1 ? atoi(argv[1]) : 3;

	atomics(n);
	semaphores(n);
	barriers(n);
	stops(n);
	futures();
	pointers(n);
	return 0;
}
