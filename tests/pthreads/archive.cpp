// SPDX-License-Identifier: BSD-3-Clause
// archive.cpp - threads in an archive that gcc has made.  Compiled with -DMAIN: its program.
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

int archive_count(int threads);

#ifdef MAIN
int main()
{
	int first = archive_count(3);

	printf("%d %d\n", first, std::async(std::launch::async, archive_count, 2).get());
}
#else
static std::mutex lock;
static std::condition_variable changed;
static int count;

int archive_count(int threads)
{
	std::vector<std::thread> thread;
	bool go = false;

	for (int i = 0; i < threads; i++)
		thread.emplace_back([&go] {
			std::unique_lock<std::mutex> held(lock);
			changed.wait(held, [&go] { return go; });
			count++;
		});
	{
		std::lock_guard<std::mutex> held(lock);
		go = true;
	}
	changed.notify_all();
	for (auto &t : thread)
		t.join();
	return count;
}
#endif
