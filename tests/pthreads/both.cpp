/* SPDX-License-Identifier: BSD-3-Clause */
/* both.cpp - C++ threads and OpenMP in one program: pools, std::async, std::thread in regions. */
#include <omp.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace
{
class Pool {
      public:
	explicit Pool(int n)
	{
		for (int i = 0; i < n; i++)
			threads_.emplace_back([this] { work(); });
	}
	~Pool()
	{
		{
			std::lock_guard<std::mutex> hold(mutex_);
			ends_ = true;
		}
		some_.notify_all();
		for (auto &t : threads_)
			t.join();
	}
	std::future<long> give(std::function<long()> job)
	{
		std::packaged_task<long()> task(std::move(job));
		std::future<long> result = task.get_future();
		{
			std::lock_guard<std::mutex> hold(mutex_);
			jobs_.push(std::move(task));
		}
		some_.notify_one();
		return result;
	}

      private:
	void work()
	{
		for (;;) {
			std::packaged_task<long()> job;
			{
				std::unique_lock<std::mutex> hold(mutex_);
				some_.wait(hold, [this] { return ends_ || !jobs_.empty(); });
				if (jobs_.empty())
					return;
				job = std::move(jobs_.front());
				jobs_.pop();
			}
			job();
		}
	}
	std::mutex mutex_;
	std::condition_variable some_;
	std::queue<std::packaged_task<long()>> jobs_;
	std::vector<std::thread> threads_;
	bool ends_ = false;
};

long square_sum(const std::vector<int> &v)
{
	long sum = 0;
#pragma omp parallel for reduction(+ : sum)
	for (size_t i = 0; i < v.size(); i++)
		sum += static_cast<long>(v[i]) * v[i];
	return sum;
}

thread_local int mine = 7;

/* Jobs that begin regions, from main and from regions, while the pool's threads stay idle beside other regions. */
void pool()
{
	Pool p(3);
	std::vector<int> v(1000);
	std::iota(v.begin(), v.end(), 1);
	long all = 0, from_regions = 0;

	for (int round = 0; round < 6; round++) {
		std::future<long> a = p.give([&] { return square_sum(v) + omp_get_thread_num(); });
		long own = square_sum(v);
		all += a.get() == own ? own : 1;
	}
#pragma omp parallel for schedule(dynamic) reduction(+ : from_regions)
	for (int i = 0; i < 12; i++)
		from_regions += p.give([i] { return i * 3L + mine; }).get();
	for (int round = 0; round < 200; round++)
		all += square_sum(v) != 333833500;
	std::printf("pool %ld, from regions %ld\n", all, from_regions);
}

void in_regions()
{
	std::atomic<long> sum{0};
	std::vector<std::string> texts(8);
	long caught = 0;

#pragma omp parallel for reduction(+ : caught)
	for (int i = 0; i < 8; i++) {
		std::thread t([&, i] {
			mine += i;
			sum += mine;
			texts[i] = "text " + std::to_string(i * 1000);
		});
		auto f = std::async(std::launch::async, [i]() -> long {
			if (i % 2)
				throw i;
			return i;
		});
		try {
			sum += f.get();
		} catch (int e) {
			caught += e;
		}
		t.join();
	}
	size_t length = 0;
	for (auto &t : texts)
		length += t.size();
	std::printf("in regions %ld, caught %ld, texts %zu\n", sum.load(), caught, length);
}

/* Workers spin for what a thread does, and it for them. */
void ping()
{
	std::atomic<int> ball{0};
	std::thread other([&] {
		for (int i = 0; i < 20; i++) {
			while (ball.load() != 1)
				std::this_thread::yield();
			ball = 0;
		}
	});
#pragma omp parallel
	{
#pragma omp for schedule(static) ordered
		for (int i = 0; i < 20; i++) {
#pragma omp ordered
			{
				ball = 1;
				while (ball.load() != 0)
					;
			}
		}
	}
	other.join();
	std::printf("ball %d\n", ball.load());
}

/* Atomics of a nested region, which has fewer threads than the one around it. */
void nested()
{
	long shared = 0;
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < 2000; i++) {
#pragma omp parallel num_threads(1)
		{
#pragma omp atomic
			shared += 2;
		}
	}
	std::printf("nested %ld\n", shared);
}
} // namespace

int main()
{
	nested();
	in_regions();
	pool();
	ping();
	std::thread([] {
		omp_set_num_threads(3);
		int n = 0;
#pragma omp parallel reduction(+ : n)
		n += omp_get_thread_num() == 0 && omp_get_level() == 1;
		std::printf("alone %d\n", n);
	}).join();
	std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(100)); }).detach();
	return 0;
}
