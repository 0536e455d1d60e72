// SPDX-License-Identifier: BSD-3-Clause
// classes.cpp - C++'s threads: std::thread, mutexes, condition variables, call_once, futures, static variables of functions, atomics.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

static int threads, made;

struct Once {
	int value;
	Once() : value(++made * 100) {}
};

static int once()
{
	static Once one;
	return one.value;
}

static void run(std::function<void(int)> work)
{
	std::vector<std::thread> others;
	for (int i = 1; i <= threads; i++)
		others.emplace_back(work, i);
	work(0);
	for (auto &t : others)
		t.join();
}

static void locks()
{
	std::mutex lock;
	std::recursive_mutex nested;
	std::shared_mutex table;
	std::once_flag flag;
	std::map<std::string, int> words;
	std::atomic<int> sum{0};
	int calls = 0, plain = 0, bad = 0;

	run([&](int id) {
		for (int i = 0; i < 30; i++) {
			std::call_once(flag, [&] { calls++; });
			{
				std::lock_guard<std::mutex> hold(lock);
				words["word" + std::to_string(i % 7)] += id + 1;
			}
			{
				std::lock_guard<std::recursive_mutex> hold(nested);
				std::lock_guard<std::recursive_mutex> again(nested);
				plain++;
				bad += once() != 100;
			}
			if (i % 6) {
				std::shared_lock<std::shared_mutex> hold(table);
				sum += 1;
			} else {
				std::unique_lock<std::shared_mutex> hold(table);
				sum += 1;
			}
		}
	});
	printf("calls %d, made %d, bad %d, plain %d, sum %d\n", calls, made, bad, plain, sum.load());
	for (auto &w : words)
		printf("%s %d\n", w.first.c_str(), w.second);
}

static void waits()
{
	std::mutex lock;
	std::condition_variable changed;
	int turn = 0;

	run([&](int id) {
		for (int i = 0; i < 20; i++) {
			std::unique_lock<std::mutex> hold(lock);
			changed.wait(hold, [&] { return turn % (threads + 1) == id; });
			turn++;
			changed.notify_all();
		}
	});
	std::unique_lock<std::mutex> hold(lock);
	bool late = changed.wait_for(hold, std::chrono::milliseconds(20), [] { return false; });
	printf("turn %d, late %d\n", turn, !late);
}

static void futures()
{
	std::vector<int> values(1000);
	std::iota(values.begin(), values.end(), 0);
	for (int i = 0; i < 5; i++) {
		auto sum =
		    std::async(std::launch::async, [&] { return std::accumulate(values.begin(), values.end(), i); });
		printf("future %d\n", sum.get());
	}
	std::promise<std::string> promise;
	auto future = promise.get_future();
	std::thread gives([&] { promise.set_value("promised"); });
	printf("%s\n", future.get().c_str());
	gives.join();
	auto thrown = std::async(std::launch::async, []() -> int { throw std::string("thrown"); });
	try {
		thrown.get();
	} catch (std::string &text) {
		printf("%s\n", text.c_str());
	}
}

/* Of volatile objects. */
static void swaps()
{
	static volatile int number;
	static int *volatile pointer;
	int last = 0;
	std::vector<std::thread> all;
	for (int i = 0; i <= threads; i++)
		all.emplace_back([] {
			for (int n = 0; n < 50; n++)
				for (int was = 0, is; (is = __sync_val_compare_and_swap(&number, was, was + 1)) != was;)
					was = is;
		});
	for (auto &t : all)
		t.join();
	bool first = __sync_bool_compare_and_swap(&pointer, nullptr, &last), second = !pointer;
	printf("swaps %d, %d %d\n", number == 50 * (threads + 1), first, second);
}

/* What threads do at their end, behind the destructors of their own objects. */
struct Late {
	int *where = nullptr;
	~Late()
	{
		if (where)
			*where += 10;
	}
};
static thread_local Late own;

static void ends()
{
	static std::mutex lock;
	static std::condition_variable changed;
	static bool ready;
	static int left;
	int right = 0;

	for (int i = 0; i < 5; i++) {
		ready = false;
		left = 1;
		std::thread t([] {
			own.where = &left;
			std::unique_lock<std::mutex> l(lock);
			ready = true;
			std::notify_all_at_thread_exit(changed, std::move(l));
			left++;
		});
		std::unique_lock<std::mutex> l(lock);
		changed.wait(l, [] { return ready; });
		right += left == 12;
		l.unlock();
		t.join();
	}
	printf("ends %d\n", right);
}

/* The value is set by the C++ library. */
static void promises()
{
	std::promise<int> promise;
	auto future = promise.get_future();
	std::thread gives([&] { promise.set_value_at_thread_exit(5); });
	printf("late %d\n", future.get());
	gives.join();
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 1;
	locks();
	waits();
	futures();
	swaps();
	ends();
	if (argc > 2)
		promises();
	return 0;
}
