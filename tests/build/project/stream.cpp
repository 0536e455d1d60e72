// SPDX-License-Identifier: BSD-3-Clause
// stream.cpp - the same library from C++.
#include <iostream>
#include <memory>
#include <vector>

#include "tally.h"

int main()
{
	auto v = std::make_unique<std::vector<int>>();
	for (int i = 0; i < 10; i++) {
		v->push_back(i);
		tally_add(i);
	}
	std::cout << "C++ " << v->size() << " " << tally_count() << std::endl;
	return 0;
}
