// SPDX-License-Identifier: BSD-3-Clause
// crowd_classes.cpp - more threads of C++ than processors: async, futures, a pool of functions, thread_local objects.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::atomic<int> ends;

struct counted {
	int value = 3;
	~counted()
	{
		ends += value == 4;
	}
};
static thread_local counted each;

class pool
{
      public:
	explicit pool(unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			threads.emplace_back([this] { work(); });
	}
	~pool()
	{
		{
			std::lock_guard<std::mutex> guard(lock);
			end = true;
		}
		some.notify_all();
		for (auto &t : threads)
			t.join();
	}
	template <typename F> auto put(F f) -> std::future<decltype(f())>
	{
		auto task = std::make_shared<std::packaged_task<decltype(f())()>>(f);
		auto result = task->get_future();
		{
			std::lock_guard<std::mutex> guard(lock);
			tasks.emplace_back([task] { (*task)(); });
		}
		some.notify_one();
		return result;
	}

      private:
	void work()
	{
		for (;;) {
			std::unique_lock<std::mutex> guard(lock);
			some.wait(guard, [this] { return end || !tasks.empty(); });
			if (tasks.empty())
				return;
			auto task = std::move(tasks.front());
			tasks.pop_front();
			guard.unlock();
			task();
		}
	}
	std::mutex lock;
	std::condition_variable some;
	std::deque<std::function<void()>> tasks;
	std::vector<std::thread> threads;
	bool end = false;
};

static long add(const std::vector<int> &v, size_t from, size_t to)
{
	if (to - from < 300)
		return std::accumulate(v.begin() + (long)from, v.begin() + (long)to, 0L);
	size_t middle = (from + to) / 2;
	auto left = std::async(std::launch::async, add, std::cref(v), from, middle);
	return add(v, middle, to) + left.get();
}

static int &once()
{
	static int *made = [] {
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
		return new int(17);
	}();
	return *made;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 5;
	std::vector<std::future<long>> results;
	long sum = 0;

	for (long i = 0; i < 50; i++)
		results.push_back(std::async(std::launch::async, [i] {
			each.value++;
			if (i % 10 == 7)
				throw i;
			return i * i + once();
		}));
	for (auto &r : results) {
		try {
			sum += r.get();
		} catch (long i) {
			sum += 1000 * i;
		}
	}
	results.clear();
	printf("async %ld, ends %d\n", sum, ends.load());

	std::vector<int> numbers(3000);
	std::iota(numbers.begin(), numbers.end(), 1);
	printf("tree %ld\n", add(numbers, 0, numbers.size()));

	sum = 0;
	{
		pool p(n);
		std::vector<std::future<int>> answers;
		for (int i = 0; i < 200; i++)
			answers.push_back(p.put([i] { return 3 * i; }));
		for (auto &a : answers)
			sum += a.get();
	}
	printf("pool %ld\n", sum);

	std::promise<int> promise;
	auto future = promise.get_future();
	std::thread late([&promise] {
		std::this_thread::sleep_for(std::chrono::milliseconds(30));
		promise.set_value(6);
	});
	bool timeout = future.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout;
	printf("timeout %d, then %d\n", timeout, future.get());
	late.join();

	std::shared_mutex shared;
	std::atomic<bool> go{false};
	int written = 0;
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < n; i++)
		threads.emplace_back([&] {
			while (!go)
				std::this_thread::yield();
			for (int k = 0; k < 20; k++) {
				{
					std::unique_lock<std::shared_mutex> w(shared);
					written++;
				}
				std::shared_lock<std::shared_mutex> r(shared);
				if (!written)
					abort();
			}
		});
	go = true;
	for (auto &t : threads)
		t.join();
	printf("written %d\n", written - 20 * (int)n);
	unsigned many = std::thread::hardware_concurrency();
	printf("processors %d\n", many >= 1);
	return 0;
}
