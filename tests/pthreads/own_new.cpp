/* SPDX-License-Identifier: BSD-3-Clause */
/* own_new.cpp - a program with operators new and delete of its own: those that the standard defines by them call them,
 * and what they return is shared. */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

static thread_local int taken, given;

void *operator new(size_t bytes)
{
	void *block = malloc(bytes ? bytes : 1);

	taken++;
	if (!block)
		throw std::bad_alloc();
	return block;
}

void operator delete(void *block) noexcept
{
	given++;
	free(block);
}

void operator delete(void *block, size_t) noexcept
{
	given++;
	free(block);
}

struct alignas(64) wide {
	int value;
};

int main()
{
	std::vector<int *> made;
	std::string text;
	wide *far = nullptr;

	std::thread t([&] {
		int was = taken, gave = given;
		made.push_back(new int(1));
		made.push_back(new int[5]{2, 3, 4, 5, 6});
		made.push_back(new (std::nothrow) int(7));
		made.push_back(new (std::nothrow) int[3]{8, 9, 10});
		text.assign(100, 'x');
		printf("taken %d\n", taken - was);
		int *one = new int(11), *many = new int[2]{12, 13};
		delete one;
		delete[] many;
		printf("given %d\n", given - gave);
		far = new wide[2];
		far[1].value = 14;
	});
	t.join();
	printf("%d %d %d %d %zu %d %d\n", *made[0], made[1][4], *made[2], made[3][2], text.size(), far[1].value,
	       static_cast<int>(reinterpret_cast<size_t>(far) % 64));
	delete made[0];
	delete[] made[1];
	operator delete(made[2], std::nothrow);
	operator delete[](made[3], std::nothrow);
	delete[] far;
	return 0;
}
