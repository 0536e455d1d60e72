/* SPDX-License-Identifier: BSD-3-Clause */
/* before_main.cpp - threads that constructors of static objects make, and what they leave for main(). */
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

thread_local int mine;
std::mutex lock;
int counted;

static void count()
{
	for (int i = 0; i < 100; i++) {
		std::lock_guard<std::mutex> hold(lock);
		counted++;
	}
}

struct Pool {
	std::vector<std::thread> ended, kept;
	std::thread::id maker = std::this_thread::get_id();

	Pool()
	{
		for (int i = 0; i < 3; i++) {
			ended.emplace_back(count);
			kept.emplace_back(count);
		}
		for (auto &thread : ended)
			thread.join();
		mine = 7;
	}
};

static Pool pool;

int main()
{
	for (auto &thread : pool.kept)
		thread.join();
	std::thread(count).join();
	printf("counted %d, of main's thread: %d, %d\n", counted, mine, pool.maker == std::this_thread::get_id());
	return 0;
}
