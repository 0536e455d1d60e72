# SPDX-License-Identifier: BSD-3-Clause
"""Random OpenMP programs without data races, whose output follows from the number of threads.

Arrays are written in one phase, by the iteration or thread that owns the element, and read by others in later ones;
scalars are only
added to, in ways that commute. make(seed) is the program's text."""
import random

HEAD = """#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N {n}
static long a[N], b[N];
long count;
static double d[N];
static int private_;
#pragma omp threadprivate(private_)
static omp_lock_t lock;

static unsigned long mix(unsigned long h, unsigned long v)
{{
	return (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 29);
}}

long tree(int depth, long v)
{{
	long part[3] = {{0}};
	if (!depth)
		return v % 1009;
	for (int i = 0; i < 3; i++)
#pragma omp task shared(part) firstprivate(i) {clause}
		part[i] = tree(depth - 1, v * 3 + i);
#pragma omp taskwait
	return part[0] + 2 * part[1] + 3 * part[2];
}}
"""


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = self.r.choice([17, 100, 777, 3000, 9000])
        self.clause = self.r.choice(["", "", "if (depth > 1)", "final(depth < 2)", "untied", "mergeable priority(2)"])
        self.depth = 0
        self.names = 0

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def schedule(self, ordered=False):
        kinds = ["static", "static", "dynamic", "guided", "runtime", "auto"]
        if not ordered:
            kinds += ["nonmonotonic: dynamic", "monotonic: guided"]
        kind = self.r.choice(kinds)
        chunk = f", {self.r.choice([1, 2, 5, 16, 333])}" if "runtime" not in kind and kind != "auto" \
            and self.r.random() < 0.6 else ""
        return self.r.choice(["", f"schedule({kind}{chunk})", f"schedule({kind}{chunk})"])

    def bounds(self):
        """A loop over some of 0..N-1, in either direction, of some type."""
        kind = self.r.choice(["int", "long", "unsigned", "unsigned long long"])
        low, step = self.r.choice([0, 0, 1, self.n // 3]), self.r.choice([1, 1, 1, 2, 7])
        if self.r.random() < 0.3 and not kind.startswith("unsigned"):
            return f"for ({kind} i = N - 1; i >= {low}; i -= {step})"
        return f"for ({kind} i = {low}; i < N; i += {step})"

    def element(self):
        return self.r.choice(["i * 3 + 1", "b[i] ^ i", "b[(i + {0}) % N] + i", "a[i] + b[i]", "a[i] * 5 - i",
                              "i % 7 ? b[i] : a[i]"]
                             ).format(self.r.randrange(1, 50))

    # ---- constructs of a phase: all writing to a and d of the element that they own; b is read only

    def loop(self):
        nowait = self.r.choice(["", "", " nowait"])
        body = self.r.choice([f"a[i] = {self.element()};",
                              f"d[i] = (double)(b[i] % 1000) / 4 + {self.r.randrange(9)};"])
        return f"#pragma omp for {self.schedule()}{nowait}\n{self.bounds()}\n{body}\n" + ("#pragma omp barrier\n"
                                                                                          if nowait else "")

    def loop_sum(self):
        v, op = self.name(), self.r.choice(["+", "^", "max", "min"])
        join = {"+": f"{v} += b[i] % 100", "^": f"{v} ^= b[i]", "max": f"{v} = b[i] > {v} ? b[i] : {v}",
                "min": f"{v} = b[i] < {v} ? b[i] : {v}"}[op]
        self.shared.append(f"long {v} = {self.r.randrange(20)};")
        self.results.append(v)
        return f"#pragma omp for {self.schedule()} reduction({op}: {v})\n{self.bounds()}\n{join};\n"

    def critical(self):
        v = self.name()
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        name = self.r.choice(["", "(first)", "(second)"])
        return (f"for (int k = 0; k < {self.r.randrange(1, 6)}; k++) {{\n#pragma omp critical{name}\n{v} += me + k;\n"
                f"}}\n")

    def locked(self):
        v = self.name()
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        return f"omp_set_lock(&lock);\n{v} += me * 3 + 1;\nomp_unset_lock(&lock);\n"

    def atomic(self):
        v, kind = self.name(), self.r.choice(["int", "long", "double", "short", "float", "unsigned char"])
        self.shared.append(f"{kind} {v} = 0;")
        self.results.append(f"(long){v}")
        times = self.r.randrange(1, 12)
        return f"for (int k = 0; k < {times}; k++) {{\n#pragma omp atomic\n{v} += {self.r.randrange(1, 4)};\n}}\n"

    def scatter(self):
        """Additions to elements of an array, here and there also to one that the thread alone uses."""
        v, kind, n = self.name(), self.r.choice(["int", "long", "double", "float"]), self.r.choice([3, 64, 2000])
        self.shared.append(f"static {kind} {v}[{n} + 64];")
        self.results.append(f"(long){v}[{self.r.randrange(n)}] + (long){v}[{n - 1}] * 3 + (long){v}[{n}]")
        own = self.r.random() < 0.5
        read = f"if ({v}[{n} + me] != was + 1) printf(\"own\");\n" if own else ""
        return (f"for (int k = 0; k < {self.r.randrange(1, 200)}; k++) {{\nint x = (k * {self.r.randrange(1, 99)} + me"
                f" * 7) % {n};\n#pragma omp atomic\n{v}[x] += k % 5;\n"
                + (f"{kind} was = {v}[{n} + me];\n#pragma omp atomic\n{v}[{n} + me] += 1;\n{read}" if own else "")
                + "}\n")

    def capture_real(self):
        v, w = self.name(), self.name()
        self.shared += [f"double {v} = 0;", f"long {w} = 0;"]
        self.results += [f"(long){v}", w]
        old = self.r.choice([f"{{ was = {v}; {v} += 1; }}", f"{{ {v} += 1; was = {v}; }}", f"was = {v} -= 1;"])
        return (f"{{\ndouble was;\n#pragma omp atomic capture\n{old}\n#pragma omp atomic\n{w} += (long)(was * was);"
                f"\n}}\n")

    def capture(self):
        v, w = self.name(), self.name()
        self.shared += [f"int {v} = 0;", f"long {w} = 0;"]
        self.results += [v, w]
        return f"{{\nint was;\n#pragma omp atomic capture\nwas = {v}++;\n#pragma omp atomic\n{w} += was * was;\n}}\n"

    def single(self):
        v = self.name()
        if self.r.random() < 0.5:
            self.shared.append(f"int {v} = 0;")
            self.results.append(v)
            return f"#pragma omp single\n{v} += {self.r.randrange(1, 99)};\n"
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        return (f"{{\nlong mine[3] = {{0}};\n#pragma omp single copyprivate(mine)\nmine[1] = "
                f"{self.r.randrange(1, 99)};\n"
                f"#pragma omp critical\n{v} += mine[1];\n}}\n")

    def sections(self):
        out = "#pragma omp sections" + self.r.choice([" nowait\n{\n", "\n{\n"])
        for _ in range(self.r.randrange(1, 6)):
            v = self.name()
            self.shared.append(f"long {v} = 0;")
            self.results.append(v)
            out += f"#pragma omp section\n{v} += b[{self.r.randrange(self.n)}] + 1;\n"
        return out + "}\n"

    def ordered(self):
        v = self.name()
        self.shared.append(f"unsigned long {v} = 1;")
        self.results.append(f"(long){v}")
        return (f"#pragma omp for ordered {self.schedule(True)}\nfor (int i = 0; i < {self.r.randrange(1, 60)}; i++) "
                f"{{\n"
                f"long w = b[i % N];\n#pragma omp ordered\n{v} = mix({v}, w + i);\n}}\n")

    def tasks(self):
        v = self.name()
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        body = self.r.choice([
            f"#pragma omp task shared({v})\n{{\n#pragma omp atomic\n{v} += k * k;\n}}\n",
            f"#pragma omp task shared({v}) firstprivate(k)\n{{\nlong part = 0;\n#pragma omp task shared(part)\npart = "
            f"k + 1;\n"
            f"#pragma omp taskwait\n#pragma omp atomic\n{v} += part;\n}}\n",
            f"#pragma omp task shared({v}) depend(inout: {v})\n{v} = {v} * 3 % 10007 + k;\n"])
        times = self.r.randrange(1, 25)
        if self.r.random() < 0.3 and "depend" not in body:  # by every thread
            return f"for (int k = 0; k < {times}; k++) {{\n{body}}}\n#pragma omp taskwait\n"
        return f"#pragma omp single\nfor (int k = 0; k < {times}; k++) {{\n{body}}}\n"

    def taskloop(self):
        size = self.r.choice(["", f"grainsize({self.r.randrange(1, 50)})", f"num_tasks({self.r.randrange(1, 9)})"])
        more = self.r.choice(["", "", " nogroup", " if (count < 0)"])
        return (f"#pragma omp single\n{{\n#pragma omp taskloop {size}{more}\nfor (int i = 0; i < N; i++)\na[i] = "
                f"{self.element()};\n}}\n")

    def task_tree(self):
        v, call = self.name(), f"tree({self.r.randrange(1, 6)}, {self.r.randrange(1, 99)})"
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        if self.r.random() < 0.4:  # by every thread
            return f"{{\nlong mine = {call};\n#pragma omp atomic\n{v} += mine;\n}}\n"
        return f"#pragma omp single\n{v} = {call};\n"

    def task_chains(self):
        v, p, q = self.name(), self.r.randrange(1, 8), self.r.randrange(1, 8)
        self.shared.append(f"long {v}[64] = {{0}};")
        self.results.append(f"sum({v})")
        return (f"#pragma omp single\nfor (int k = 0; k < {self.r.randrange(1, 80)}; k++) {{\nint x = k * {p} % 8, y "
                f"= (k / 3 + {q}) % 8;\n"
                f"#pragma omp task shared({v}) firstprivate(k, x, y) depend(in: {v}[x]) depend(inout: {v}[y])"
                f"{self.r.choice(['', '', ' if (k % 7)'])}\n{v}[y] = ({v}[y] * 3 + {v}[x] + k) % 100003;\n}}\n")

    def task_blocks(self):
        size = self.r.randrange(1, 200)
        return (f"#pragma omp for {self.schedule()}\nfor (int first = 0; first < N; first += {size})\n#pragma omp "
                f"task firstprivate(first)\n"
                f"for (int i = first; i < first + {size} && i < N; i++)\na[i] = {self.element()};\n")

    def task_group(self):
        v, w = self.name(), self.name()
        self.shared += [f"long {v} = 0;", f"long {w} = 0;"]
        self.results += [v, w]
        return (f"#pragma omp single\n{{\n#pragma omp taskgroup\nfor (int k = 0; k < {self.r.randrange(1, 40)}; k++)\n"
                f"#pragma omp task shared({v})\n{{\n"
                f"#pragma omp task shared({v}) firstprivate(k)\n{{\n#pragma omp atomic\n{v} += k * 2;\n}}\n#pragma "
                f"omp atomic\n{v} += 1;\n}}\n"
                f"{w} = {v} * 3;\n}}\n")

    def task_critical(self):
        v = self.name()
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        return (f"for (int k = 0; k < {self.r.randrange(1, 12)}; k++)\n#pragma omp task shared({v}) firstprivate(k)\n"
                f"#pragma omp critical(third)\n{{\n"
                f"long part = b[k];\n#pragma omp task shared(part)\npart += k;\n#pragma omp taskwait\n{v} += part;\n"
                f"}}\n"
                + self.r.choice(["#pragma omp taskwait\n", ""]))

    def master(self):
        v = self.name()
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        return f"#pragma omp master\n{v} += b[{self.r.randrange(self.n)}];\n"

    def own(self):
        v = self.name()
        self.shared.append(f"long {v}[64] = {{0}};")
        self.results.append(f"sum({v})")
        return f"private_ += me + {self.r.randrange(5)};\n{v}[me] += private_;\n"

    def nested(self):
        if self.depth:
            return self.own()
        v = self.name()
        self.shared.append(f"long {v} = 0;")
        self.results.append(v)
        return (f"{{\nlong inner = 0;\n#pragma omp parallel num_threads(3) reduction(+: inner)\n{{\n#pragma omp for\n"
                f"for (int i = 0; i < {self.r.randrange(40)}; i++)\ninner += i;\n}}\n#pragma omp atomic\n{v} += "
                f"inner;\n}}\n")

    def phase(self):
        kinds = [self.loop, self.loop, self.loop_sum, self.critical, self.locked, self.atomic, self.scatter,
                 self.capture, self.capture_real, self.single, self.sections,
                 self.ordered, self.tasks, self.taskloop, self.task_tree,
                 self.task_chains, self.task_blocks, self.task_group, self.task_critical, self.master, self.own,
                 self.nested]
        one = self.r.choice(kinds)()
        return one + self.r.choice(["", "#pragma omp barrier\n"])

    def swap(self):
        """Between phases: what was written can be read."""
        return "#pragma omp barrier\n#pragma omp for\nfor (int i = 0; i < N; i++)\nb[i] = mix(b[i], a[i]) % 100003;\n"

    def region(self, number):
        self.shared, self.results = [], []
        heap = self.r.random() < 0.5
        clause = " copyin(private_)" + self.r.choice(["", "", "", f" num_threads({self.r.randrange(1, 3)})",
                                                      " if (count >= 0)"])
        body = "".join(self.phase() + (self.swap() if self.r.random() < 0.5 else "#pragma omp barrier\n")
                       for _ in range(self.r.randrange(1, 7)))
        # a and d are written by their owners only where nobody reads them: each phase ends with a barrier
        lines = "\n".join(self.shared)
        prints = "\n".join(f"h = mix(h, (unsigned long)({v}));" for v in self.results)
        block = ""
        if heap:
            block = ("long *block = malloc(N * sizeof(long));\n#pragma omp parallel for " + self.schedule() +
                     "\nfor (int i = 0; i < N; i++)\nblock[i] = b[i] - i;\nfor (int i = 0; i < N; i++)\nh = mix(h, "
                     "block[i]);\nfree(block);\n")
        return (f"static unsigned long region{number}(unsigned long h)\n{{\n{lines}\nprivate_ = "
                f"{self.r.randrange(100)};\n{block}"
                f"#pragma omp parallel{clause}\n{{\nint me = omp_get_thread_num();\n(void)me;\n{body}}}\n{prints}\n"
                "for (int i = 0; i < N; i++)\nh = mix(mix(mix(h, a[i]), b[i]), (unsigned long)(d[i] * 4));\nreturn "
                "h;\n}\n")


def make(seed):
    m = Maker(seed)
    regions = [m.region(k) for k in range(m.r.randrange(1, 6))]
    text = HEAD.format(n=m.n,
                       clause=m.clause) + ("static inline long sum(const long *v)\n{\nlong s = 0;\nfor (int i = 0; i < "
                                           "64; i++)\ns += v[i] * (i + 1);\nreturn s;\n}\n")
    text += "\n".join(regions)
    text += ("\nint main(void)\n{\nunsigned long h = 1;\nomp_init_lock(&lock);\nfor (int i = 0; i < N; i++)\nb[i] = i "
             "* 37 % 1009;\n")
    for _ in range(m.r.randrange(1, 3)):
        for k in range(len(regions)):
            text += f'h = region{k}(h);\nprintf("{k} %lx\\n", h);\n'
    return text + "return (int)(h % 100);\n}\n"


if __name__ == "__main__":
    import sys
    print(make(int(sys.argv[1])))
