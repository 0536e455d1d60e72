// SPDX-License-Identifier: BSD-3-Clause
// archive.cpp - threads in an archive that gcc has made, and in a library.  Compiled with -DMAIN: the program; with
// -DOPEN, too: the program opens the library itself; -DOPENS: a library that opens it.
#include <condition_variable>
#include <cstdio>
#include <dlfcn.h>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

extern "C" int archive_count(int threads);
using counts = int(int);
counts *opened();

#if defined OPEN || defined OPENS
counts *opened()
{
	return reinterpret_cast<counts *>(dlsym(dlopen("./libopened.so", RTLD_NOW), "archive_count"));
}
#endif

#ifdef MAIN
int main()
{
#if defined OPEN || defined ASK
	auto count = opened();
	int first = count(3), second = count(2); // not by std::async: other processors have not opened the library
#else
	int first = archive_count(3), second = std::async(std::launch::async, archive_count, 2).get();
#endif

	printf("%d %d\n", first, second);
}
#elif !defined OPENS
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
