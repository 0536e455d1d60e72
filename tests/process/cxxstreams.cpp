/* SPDX-License-Identifier: BSD-3-Clause */
/* cxxstreams.cpp - C++ streams, strings, containers and folders of one thread, used by others. */
#include "process.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace fs = std::filesystem;

static std::mutex mutex;

/* ---- streams of files ---- */

static void getline_step(void *arg, int me)
{
	std::string line;
	bool good = bool(std::getline(*static_cast<std::istream *>(arg), line));
	say("%d getline %d '%s'\n", me, good, line.c_str());
}

CASE(ifstream_in_turn)
{
	std::ifstream in("lines.txt");

	getline_step(&in, 0);
	turns(getline_step, &in);
	getline_step(&in, 0);
	say("at %ld\n", long(in.tellg()));
	in.seekg(-22, std::ios::end);
	turns(getline_step, &in);
	say("%d %d\n", in.eof(), in.fail());
}

static std::unique_ptr<std::ifstream> opened;

static void open_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		opened = std::make_unique<std::ifstream>("numbers.txt");
	int a = 0, b = 0;
	*opened >> a >> b;
	say("%d %d %d\n", me, a, b);
}

CASE(ifstream_of_thread)
{
	turns(open_step, nullptr);
	char c = 0;
	opened->get(c);
	opened->unget();
	say("'%c' %d\n", c, opened->peek());
	opened.reset();
}

static long lines, length;

static void lines_step(void *arg, int me)
{
	std::string line;

	(void)me;
	for (int i = 0; i < 300 && std::getline(*static_cast<std::istream *>(arg), line); i++) {
		lines++;
		length += long(line.size());
	}
}

static void write_step(void *arg, int me)
{
	for (int i = 0; i < 400; i++)
		*static_cast<std::ostream *>(arg) << "thread " << me << " line " << i << '\n';
}

CASE(ofstream_in_turn)
{
	{
		std::ofstream out("ofstream");
		out << "main" << std::endl;
		turns(write_step, &out);
		say("at %ld\n", long(out.tellp()));
	}
	std::ifstream in("ofstream");
	for (int i = 0; i < 4; i++)
		turns(lines_step, &in);
	while (!in.eof())
		lines_step(&in, 0);
	say("%ld lines, %ld characters\n", lines, length);
	in.close();
	unlink("ofstream");
}

static void locked_step(void *arg, int me)
{
	for (int i = 0; i < 30; i++) {
		std::lock_guard<std::mutex> guard(mutex);
		*static_cast<std::ostream *>(arg) << std::setw(5) << std::hex << me * 16 + 15 << '\n';
	}
}

CASE(ofstream_with_mutex)
{
	std::map<std::string, int> n;
	{
		std::ofstream out("locked", std::ios::app);
		with_main(locked_step, &out);
	}
	std::ifstream in("locked");
	for (std::string line; std::getline(in, line);)
		n[line]++;
	for (auto &[line, times] : n)
		say("'%s' %d\n", line.c_str(), times);
	unlink("locked");
}

static void fstream_step(void *arg, int me)
{
	auto &both = *static_cast<std::fstream *>(arg);
	std::string word;

	both.seekg(0);
	both >> word;
	both.seekp(0, std::ios::end);
	both << word << me << ' ' << std::flush;
	say("%d read %s\n", me, word.c_str());
	shows(me, "fstream");
}

CASE(fstream_in_turn)
{
	std::fstream both("fstream", std::ios::in | std::ios::out | std::ios::trunc);

	both << "word " << std::flush;
	turns(fstream_step, &both);
	both.close();
	shows(0, "fstream");
}

/* ---- streams of strings ---- */

static void string_out_step(void *arg, int me)
{
	auto &out = *static_cast<std::ostringstream *>(arg);

	for (int i = 0; i < 50; i++)
		out << me << ':' << std::setprecision(3) << i / 7.0 << ' ';
}

CASE(stringstream_written)
{
	std::ostringstream out;

	turns(string_out_step, &out);
	out << "end";
	std::string text = out.str();
	say("%zu %s...%s\n", text.size(), text.substr(0, 20).c_str(), text.substr(text.size() - 20).c_str());
}

static std::stringstream *made;

static void string_made_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		made = new std::stringstream("12 0x1f 3.5 word true");
	std::string word;
	*made >> word;
	*made << " more" << me;
	say("%d %s\n", me, word.c_str());
}

CASE(stringstream_of_thread)
{
	turns(string_made_step, nullptr);
	for (std::string word; *made >> word;)
		say("main %s\n", word.c_str());
	delete made;
}

/* ---- standard streams ---- */

static void cout_step(void *arg, int me)
{
	(void)arg;
	std::cout << "thread " << me << ' ' << std::fixed << std::setprecision(2) << me / 3.0 << '\n';
}

CASE(cout_in_turn)
{
	print_said();
	std::cout << "main " << 1.0 / 3 << std::endl;
	turns(cout_step, nullptr);
	std::cout << "main " << 1.0 / 3 << std::endl;
	std::cout << std::defaultfloat << std::setprecision(6);
	printf("printf after cout\n");
}

static int counted;

static void cout_locked_step(void *arg, int me)
{
	(void)arg;
	(void)me;
	for (int i = 0; i < 15; i++) {
		std::lock_guard<std::mutex> guard(mutex);
		std::cout << counted++ << (i % 2 ? " cout\n" : " endl");
		if (i % 2 == 0)
			std::cout << std::endl;
	}
}

CASE(cout_with_mutex)
{
	print_said();
	counted = 0;
	std::ostringstream text;
	auto *was = std::cout.rdbuf(text.rdbuf());
	with_main(cout_locked_step, nullptr);
	std::cout.rdbuf(was);
	std::istringstream in(text.str());
	int n, next = 0;
	for (std::string word; in >> n >> word;)
		next += n == next;
	std::cout << "in order " << next << " of " << counted << std::endl;
}

static void cin_step(void *arg, int me)
{
	std::string word, rest;
	int n = -1;

	(void)arg;
	std::cin >> word >> n;
	std::getline(std::cin, rest);
	say("%d %s %d '%s'\n", me, word.c_str(), n, rest.c_str());
}

CASE(cin_in_turn)
{
	cin_step(nullptr, 0);
	turns(cin_step, nullptr);
	cin_step(nullptr, 0);
}

static void cin_lines_step(void *arg, int me)
{
	(void)arg;
	if (me != threads)
		return;
	int n = 0;
	for (std::string line; std::getline(std::cin, line);)
		n++;
	say("%d lines, end %d\n", n, std::cin.eof());
}

CASE(cin_rest_in_thread)
{
	getline_step(&std::cin, 0);
	turns(getline_step, &std::cin);
	turns(cin_lines_step, nullptr);
	say("end %d\n", std::cin.eof());
}

/* The streams have buffers of their own. */
static void unsynced_step(void *arg, int me)
{
	int a, b;

	(void)arg;
	std::cin.ignore(5) >> a;
	std::cin.ignore(100, '\n').ignore(5) >> b;
	std::cin.ignore(100, '\n');
	std::cout << me << " reads " << a << ' ' << b << '\n';
}
CASE(unsynced_in_turn)
{
	print_said();
	fflush(stdout);
	std::cout << std::ios::sync_with_stdio(false) << '\n';
	std::cin.tie(nullptr);
	unsynced_step(nullptr, 0);
	turns(unsynced_step, nullptr);
	std::cout << std::ios::sync_with_stdio(false) << '\n' << std::flush;
}

static void cerr_step(void *arg, int me)
{
	(void)arg;
	std::cerr << "cerr " << me << '\n';
	std::clog << "clog " << me << std::endl;
}

CASE(cerr_in_turn)
{
	int was = dup(2), file = open("cerr", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	dup2(file, 2);
	turns(cerr_step, nullptr);
	dup2(was, 2);
	close(was);
	close(file);
	shows(0, "cerr");
}

/* ---- memory ---- */

static void string_step(void *arg, int me)
{
	auto &text = *static_cast<std::string *>(arg);

	for (int i = 0; i < 200; i++)
		text += char('a' + (me + i) % 26);
}

CASE(string_grown_by_threads)
{
	auto *text = new std::string("main");

	turns(string_step, text);
	say("%zu %s\n", text->size(), text->substr(text->size() - 10).c_str());
	std::string copy = std::move(*text);
	delete text;
	turns(string_step, &copy);
	copy.shrink_to_fit();
	say("%zu %s\n", copy.size(), copy.substr(0, 10).c_str());
}

static void vector_step(void *arg, int me)
{
	auto &v = *static_cast<std::vector<std::string> *>(arg);

	for (int i = 0; i < 100; i++)
		v.push_back("a string that needs memory of its own " + std::to_string(me * 1000 + i));
	v.erase(v.begin(), v.begin() + 10);
}

CASE(vector_grown_by_threads)
{
	std::vector<std::string> v;

	turns(vector_step, &v);
	say("%zu %s %s\n", v.size(), v.front().c_str(), v.back().c_str());
	v.clear();
	v.shrink_to_fit();
	vector_step(&v, 0);
	turns(vector_step, &v);
	say("%zu\n", v.size());
}

struct containers {
	std::map<int, std::string> map;
	std::unordered_map<std::string, int> table;
	std::list<std::vector<int>> list;
	std::set<std::string> set;
};

static void containers_step(void *arg, int me)
{
	auto &c = *static_cast<containers *>(arg);

	for (int i = 0; i < 60; i++) {
		std::lock_guard<std::mutex> guard(mutex);
		c.map[me * 100 + i] = std::to_string(i);
		c.table[std::to_string(i)] += me;
		c.list.emplace_back(std::size_t(i), me);
		c.set.insert("key " + std::to_string(i % 20));
	}
}

static void containers_free_step(void *arg, int me)
{
	auto *c = static_cast<containers *>(arg);

	if (me == 1)
		c->list.clear();
	if (me == threads)
		delete c;
}

CASE(containers_freed_by_thread)
{
	auto *c = new containers;
	std::size_t total = 0;

	with_main(containers_step, c);
	for (auto &v : c->list)
		total += v.size();
	say("%zu %zu %zu %zu, %zu, %d\n", c->map.size(), c->table.size(), c->list.size(), c->set.size(), total,
	    c->table["7"]);
	turns(containers_free_step, c);
}

static std::vector<std::unique_ptr<std::string>> owned(MANY + 1);
static std::shared_ptr<int> counted_value;

static void own_step(void *arg, int me)
{
	(void)arg;
	owned[std::size_t(me)] = std::make_unique<std::string>(100, char('a' + me));
	auto mine = counted_value;
	++*mine;
	say("%d uses %ld\n", me, mine.use_count());
}

CASE(pointers_of_threads)
{
	counted_value = std::make_shared<int>(5);
	turns(own_step, nullptr);
	for (int i = 1; i <= threads; i++) {
		say("%s\n", owned[std::size_t(i)]->substr(97).c_str());
		owned[std::size_t(i)].reset();
	}
	say("%d, uses %ld\n", *counted_value, counted_value.use_count());
	counted_value.reset();
}

/* ---- what else belongs to the process ---- */

static void path_step(void *arg, int me)
{
	(void)arg;
	fs::path was = fs::current_path();
	say("%d in %s\n", me, was.filename() == "inner" ? "inner" : "outer");
	if (me == 1)
		fs::current_path("inner");
	say("%d %d\n", me, fs::exists("only_here"));
}

CASE(current_path)
{
	fs::path home = fs::current_path();

	fs::create_directories("inner");
	std::ofstream("inner/only_here") << "x";
	turns(path_step, nullptr);
	say("main in %s, %d bytes\n", fs::current_path().filename().c_str(), int(fs::file_size("only_here")));
	fs::current_path(home);
}

static void path_seen_step(void *arg, int me)
{
	std::ofstream("of_thread_" + std::to_string(me)) << me;
	say("%d %d %s\n", me, fs::current_path() == *static_cast<fs::path *>(arg),
	    fs::absolute("x").parent_path().filename().c_str());
}

CASE(current_path_of_main)
{
	fs::path home = fs::current_path(), there = home / "main_went";

	fs::create_directory(there);
	fs::current_path(there);
	turns(path_seen_step, &there);
	fs::current_path(home);
	for (int i = 1; i <= threads; i++)
		say("%d\n", fs::exists(there / ("of_thread_" + std::to_string(i))));
}

static void iterate_step(void *arg, int me)
{
	auto &i = *static_cast<fs::recursive_directory_iterator *>(arg);

	(void)me;
	if (i != fs::recursive_directory_iterator())
		++i;
}

CASE(directory_iterator)
{
	fs::recursive_directory_iterator i("folder"), end;

	turns(iterate_step, &i);
	int left = 0;
	for (; i != end; ++i)
		left++;
	say("left %d of 3\n", left);
	std::vector<std::string> names;
	for (auto &entry : fs::directory_iterator("folder"))
		names.push_back(entry.path().filename());
	std::sort(names.begin(), names.end());
	for (auto &name : names)
		say("%s ", name.c_str());
	say("\n");
}

static void regex_step(void *arg, int me)
{
	std::smatch found;
	std::string text = "thread " + std::to_string(me) + " of many";

	if (std::regex_search(text, found, *static_cast<std::regex *>(arg)))
		say("%d '%s' at %ld\n", me, found[1].str().c_str(), long(found.position()));
}

CASE(regex_of_main)
{
	std::regex r("d ([0-9]+) o");

	turns(regex_step, &r);
	regex_step(&r, 0);
}

struct commas : std::numpunct<char> {
	char do_thousands_sep() const override
	{
		return ',';
	}
	std::string do_grouping() const override
	{
		return "\3";
	}
};

static void locale_step(void *arg, int me)
{
	std::ostringstream out;

	if (me == 1)
		std::locale::global(*static_cast<std::locale *>(arg));
	out << 1234567 + me;
	std::ostringstream now;
	now.imbue(std::locale());
	now << 1234567 + me;
	say("%d %s %s\n", me, out.str().c_str(), now.str().c_str());
}

CASE(locale_of_process)
{
	std::locale with(std::locale::classic(), new commas);

	turns(locale_step, &with);
	std::ostringstream out;
	out << 7654321;
	say("main %s\n", out.str().c_str());
	std::locale::global(std::locale::classic());
}

static void global_step(void *arg, int me)
{
	std::ostringstream out, word;
	(void)arg;

	out << 1234567 + me;
	word << std::boolalpha << (me > 0);
	say("%d %s %s %s\n", me, out.str().c_str(), word.str().c_str(), std::locale().name().c_str());
	if (me == 2)
		std::locale::global(std::locale("C.UTF-8"));
	if (me == 3)
		std::locale::global(std::locale(std::locale(), new commas));
}

static void global_busy_step(void *arg, int me)
{
	std::locale names[2] = {std::locale("C"), std::locale(std::locale(), new commas)};
	int wrong = 0;
	(void)arg;

	for (int i = 0; i < 50; i++) {
		if (i % 5 == 0)
			std::locale::global(names[(i / 5 + me) % 2]);
		std::ostringstream out;
		out << 1234567;
		wrong += out.str() != "1,234,567" && out.str() != "1234567";
	}
	if (wrong)
		say("%d finds %d texts of no locale\n", me, wrong);
}

CASE(locale_of_all)
{
	std::locale::global(std::locale(std::locale::classic(), new commas));
	turns(global_step, nullptr);
	global_step(nullptr, 0);
	with_main(global_busy_step, nullptr);
	std::locale::global(std::locale::classic());
	turns(global_step, nullptr);
}

static void throw_step(void *arg, int me)
{
	auto &kept = *static_cast<std::exception_ptr *>(arg);

	if (me != threads)
		return;
	try {
		throw std::runtime_error("thrown by thread " + std::to_string(me));
	} catch (...) {
		kept = std::current_exception();
	}
}

CASE(exception_of_thread)
{
	std::exception_ptr kept;

	turns(throw_step, &kept);
	try {
		std::rethrow_exception(kept);
	} catch (const std::exception &e) {
		say("%s\n", e.what());
	}
}

MAIN(T(ifstream_in_turn), T(ifstream_of_thread), T(ofstream_in_turn), T(ofstream_with_mutex), T(fstream_in_turn),
     T(stringstream_written), T(stringstream_of_thread), ALONE(cout_in_turn), ALONE(cout_with_mutex),
     ALONE(cin_in_turn), ALONE(cin_rest_in_thread), ALONE(unsynced_in_turn), ALONE(cerr_in_turn),
     T(string_grown_by_threads), T(vector_grown_by_threads), T(containers_freed_by_thread), T(pointers_of_threads),
     T(current_path), T(directory_iterator), T(regex_of_main), T(locale_of_process), ALONE(locale_of_all),
     T(exception_of_thread), T(current_path_of_main))
