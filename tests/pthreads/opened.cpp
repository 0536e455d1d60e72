// SPDX-License-Identifier: BSD-3-Clause
// opened.cpp - the name of a file lies in a page that another processor takes for its stores, while the file is opened.
// Unless the call is made again, one run of eight finds no file.
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

struct options {
	int unused;
	std::string name;
	std::atomic<long> stores;
};

static int bad;

struct reader {
	std::string name;
	FILE *in;
	explicit reader(const std::string &n) : name(n)
	{
		in = std::fopen(n.c_str(), "rb");
		bad += in == nullptr;
	}
};

int main()
{
	options *o = new options;
	std::atomic<bool> *done = new std::atomic<bool>(false);

	o->name = "/dev/null";
	std::thread t([&] {
		for (int i = 0; i < 500; i++) {
			reader *r = new reader(o->name);
			if (r->in)
				std::fclose(r->in);
			delete r;
		}
		*done = true;
	});
	while (!*done)
		o->stores++;
	t.join();
	std::printf("bad %d\n", bad);
}
