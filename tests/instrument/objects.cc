/* SPDX-License-Identifier: BSD-3-Clause */
/* objects.cc - C++ objects in shared memory: constructors, containers with an allocator, algorithms, atomics. */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <vector>

#include "tweed/tweed.h"

template <typename T> struct Shared {
	using value_type = T;
	Shared() = default;
	template <typename U> Shared(const Shared<U> &) {}
	T *allocate(std::size_t n) { return static_cast<T *>(tw_malloc(n * sizeof(T))); }
	void deallocate(T *p, std::size_t) { tw_free(p); }
	bool operator==(const Shared &) const { return true; }
	bool operator!=(const Shared &) const { return false; }
};

struct Point {
	double x, y;
	Point(double a, double b) : x(a), y(b) {}
	virtual ~Point() {}
	virtual double sum() const { return x + y; }
	Point operator+(const Point &o) const { return Point(x + o.x, y + o.y); }
};

struct Part {
	std::vector<int, Shared<int>> numbers;
	Point a{1, 2}, b{3, 4};
	std::atomic<long> total{0};
	char name[24] = "part";
	unsigned id : 5, rest : 27;
};

static bool check(Part &p, int id)
{
	if (p.numbers.size() != 3000 || !std::is_sorted(p.numbers.begin(), p.numbers.end()))
		return false;
	return p.a.x == 4 + id && p.a.y == 6 && p.total == id && p.name[4] == char('A' + id) && p.id == unsigned(id);
}

int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	int me = tw_id(), count = tw_count();
	Part **parts = static_cast<Part **>(tw_malloc_all(std::size_t(count) * sizeof(*parts)));
	bool good = true;

	parts[me] = new (tw_malloc(sizeof(Part))) Part;
	tw_barrier_all();
	for (int round = 0; round < 10; round++) {
		int id = (me + round) % count;
		Part &p = *parts[id];
		p.numbers.clear();
		for (int i = 0; i < 3000; i++)
			p.numbers.push_back(i * 7919 % 3001);
		std::sort(p.numbers.begin(), p.numbers.end());
		p.a = Point(1 + id, 2) + p.b;
		p.total.store(0);
		for (int i = 0; i < id; i++)
			p.total++;
		p.name[4] = char('A' + id);
		p.id = unsigned(id) & 31;
		tw_barrier_all();
		for (int i = 0; i < count; i++)
			good = good && check(*parts[i], i);
		tw_barrier_all();
	}
	if (!good)
		std::printf("%d: a part is wrong\n", me);
	tw_verified(good);
	tw_finalize();
	return good ? 0 : 1;
}
