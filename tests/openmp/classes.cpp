// SPDX-License-Identifier: BSD-3-Clause
// classes.cpp - C++: constructors of globals, containers, new, exceptions inside a region, std::atomic.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <omp.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Account {
	std::vector<int> entries;
	std::string name;
	Account() : entries(100, 1), name("an account with a name that is long enough for the heap") {}
	~Account()
	{
		std::printf("closed with %zu\n", entries.size());
	}
};

static Account account;
static std::atomic<long> counter{5};

int main()
{
	std::vector<double> v(1000, 0.5);
	std::map<int, std::string> names;
	double sum = 0;
	int caught = 0;

#pragma omp parallel for
	for (int i = 0; i < 1000; i++)
		v[i] += i;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 10)
	for (int i = 0; i < 1000; i++)
		sum += v[i];
#pragma omp parallel
	{
		auto mine = std::make_shared<std::vector<int>>(50, omp_get_thread_num());
		counter += mine->size();
#pragma omp critical
		{
			account.entries.push_back(omp_get_thread_num());
			names[omp_get_thread_num()] = account.name + std::to_string(mine->back());
		}
#pragma omp barrier
		try {
			if (names.at(omp_get_thread_num()).empty())
				sum = 0;
			names.at(9999);
		} catch (const std::out_of_range &) {
#pragma omp atomic
			caught++;
		}
	}
#pragma omp parallel
	{
		std::ostringstream text;
		text << omp_get_thread_num() * 0.5;
#pragma omp critical
		if (text.str().empty() || !std::cout.flush())
			sum = 0;
	}
	std::sort(account.entries.begin() + 100, account.entries.end());
	for (auto &n : names)
		std::cout << n.first << " " << n.second << " " << account.entries[100 + n.first] << "\n";
	std::cout << sum << " " << caught << " " << counter << std::endl;
	return 0;
}
