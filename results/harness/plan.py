# SPDX-License-Identifier: BSD-3-Clause
"""Plans (doc/guide/comparing.md): what to run.  A plan is a TOML file; Plan.runs() is the product of its axes."""
import itertools
import os
import re
import shlex
import tomllib
from dataclasses import dataclass

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # results/, or its installed copy
PARAMETERS = "parameters"  # among the settings: what follows the name of each protocol
SEQUENTIAL = "sequential"  # the protocol of plain C, the base of speed-ups; in virtual time: one processor without one
VIRTUAL = "virtual/"  # begins the network of a run in virtual time: the machine follows


class Refused(Exception):
    """One sentence: what is wrong with the request, and how to correct it."""


@dataclass(frozen=True)
class Run:
    """One configuration.  Its fields are columns of runs.csv."""
    application: str
    size: str
    protocol: str
    nodes: int
    processors: int
    network: str
    page_size: str
    settings: tuple  # of (variable, value), and of (PARAMETERS, the protocols' own)

    @property
    def shape(self):
        return f"{self.nodes}x{self.processors}"

    @property
    def machine(self):
        """Of virtual time; "" in real time."""
        return self.network.removeprefix(VIRTUAL) if self.network.startswith(VIRTUAL) else ""

    @property
    def key(self):
        """A name for files."""
        settings = "".join(f"-{k.removeprefix('TWEED_').lower()}={v}" for k, v in self.settings)
        return re.sub(r"[^A-Za-z0-9._=,+-]", "_",
                      f"{self.application}-{self.size}-{self.protocol}-{self.shape}-{self.network}-"
                       f"{self.page_size}{settings}")

    @property
    def drivers(self):
        """The protocol and the transport, with their parameters."""
        transport, _, profile = ("" if self.machine else self.network).partition("/")
        parameters = dict(self.settings).get(PARAMETERS)
        return (f"{self.protocol}:{parameters}" if parameters else self.protocol,
                f"{transport}:profile={profile}" if profile else transport)

    def environment(self):
        return {k: str(v) for k, v in self.settings if k != PARAMETERS}

    def settled(self):
        """The environment, with all that the command line says."""
        protocol, transport = self.drivers
        time = {"TWEED_TIME": "virtual", "TWEED_MACHINE": self.machine} if self.machine else \
               {"TWEED_TRANSPORT": transport}
        return {"TWEED_PROTOCOL": protocol, "TWEED_PAGE_SIZE": self.page_size} | time | self.environment()


@dataclass
class Application:
    name: str
    program: str        # path or name
    announced: str      # the same built by `tweed cc`, for 1L
    counted: str        # the same built by `tweed cc --count`, for virtual time
    sizes: dict         # name: arguments


NETWORKS = {"real": {"networks": ["shm"]}, "virtual": {"machines": ["hdr"]}}  # the axis by the plan's time
AXES = {time: {"applications": None, "protocols": ["2L"], "shapes": ["2x2"], **network, "page_sizes": ["4K"],
               "sizes": ["default"]} for time, network in NETWORKS.items()}
KEYS = {"title", "text", "published", "repetitions", "timeout", "baseline", "settings", "tables", "figures", "runs",
        "application", "time", "work"}


def find(name):
    """The plan of this name: a file NAME.toml, or one of those supplied with Tweed."""
    folder, base = os.path.split(name.removesuffix(".toml"))
    for path in (os.path.join(folder, base + ".toml"), os.path.join(HERE, "plans", base + ".toml")
                 if folder in ("", "plans") else ""):
        if os.path.isfile(path):
            return path
    if os.path.isfile(name):
        raise Refused(f"{name} is no plan: a plan is a file of TOML, and its name ends in .toml")
    shipped = sorted(f.removesuffix(".toml") for f in os.listdir(os.path.join(HERE, "plans")) if f.endswith(".toml"))
    raise Refused(f"there is no plan {name}: give a file of TOML, or one of {', '.join(shipped)}")


def load(path):
    try:
        with open(path, "rb") as f:
            return tomllib.load(f)
    except tomllib.TOMLDecodeError as e:
        raise Refused(f"{path} is no plan: {str(e)[0].lower() + str(e)[1:]}") from e
    except UnicodeDecodeError as e:
        raise Refused(f"{path} is no plan: it is no text in UTF-8") from e
    except OSError as e:
        raise Refused(f"{path} cannot be read: {e.strerror}; name another") from e


def settings_of(table, where):
    for k in table:
        if not k.startswith("TWEED_") and k != PARAMETERS:
            raise Refused(f"{where}: {k} is no setting: settings are TWEED_* variables, and {PARAMETERS}, see "
                          f"doc/reference/settings.md")
    return tuple(sorted((k, str(v)) for k, v in table.items()))


class File:
    """The fields of every plan."""

    def __init__(self, path, keys):
        self.path = path
        self.table = t = load(path)
        self.known(t, keys, "a plan")
        self.title = self.typed(t, "title", str, os.path.basename(path))
        self.text = self.typed(t, "text", str, "")
        self.time = self.one_of("time", tuple(NETWORKS))
        self.virtual = self.time == "virtual"
        self.repetitions = self.typed(t, "repetitions", int, 1 if self.virtual else 3)
        self.timeout = self.typed(t, "timeout", int, 300)
        if self.repetitions < 1 or self.timeout < 1:
            raise Refused(f"{path}: repetitions and timeout are 1 or more")

    def typed(self, table, key, kind, default):
        value = table.get(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            words = {str: "a text", int: "a whole number", (int, float): "a number", bool: "true or false",
                     list: "a list", dict: "a table"}
            raise Refused(f"{self.path}: {key} takes {words[kind]}, not {value!r}")
        return value

    def one_of(self, key, words):
        """The value of a key that takes one of some words; the first is the default."""
        word = self.table.get(key, words[0])
        if word not in words:
            raise Refused(f"{self.path}: {key} is {' or '.join(words)}, not {word!r}")
        return word

    def known(self, table, keys, what):
        for k in table:
            if k not in keys:
                raise Refused(f"{self.path}: {what} has no key {k}: there are {', '.join(sorted(keys))}")


class Plan(File):
    def __init__(self, path):
        super().__init__(path, KEYS)
        t = self.table
        self.published = self.typed(t, "published", str, "")
        self.baseline = self.typed(t, "baseline", bool, True)
        self.work = self.one_of("work", ("machine", "measured", "published"))
        if self.work != "machine" and not self.virtual:
            raise Refused(f"{path}: work = \"{self.work}\" is for virtual time: add time = \"virtual\"")
        if self.work == "published" and not self.published:
            raise Refused(f"{path}: work = \"published\" takes sequential times from a paper: name it, such as "
                          f"published = \"cashmere-2l\"")
        self.tables = self.typed(t, "tables", list, ["times", "counters"])
        self.figures = self.typed(t, "figures", list, ["speedup", "breakdown"])
        self.applications = self.load_applications()
        self.runs = self.product()

    @property
    def base(self):
        """What speed-ups are over."""
        return "one processor without a protocol" if self.virtual else "plain C"

    def load_applications(self):
        """The applications of applications.toml, and the plan's own."""
        tables = load(os.path.join(HERE, "applications.toml")) | self.typed(self.table, "application", dict, {})
        out = {}
        for name, t in tables.items():
            if not isinstance(t, dict):
                raise Refused(f"{self.path}: application.{name} takes a table")
            self.known(t, {"program", "announced", "counted", "sizes"}, f"application.{name}")
            out[name] = Application(name, t.get("program", name), t.get("announced", ""),
                                    t.get("counted", t.get("program", name)), {"default": "", **t.get("sizes", {})})
        return out

    def product(self):
        blocks = self.typed(self.table, "runs", list, [])
        if not blocks:
            raise Refused(f"{self.path}: no runs: it takes one [[runs]] at least, with applications, protocols and "
                          f"shapes")
        common = settings_of(self.typed(self.table, "settings", dict, {}), self.path)
        axes_of = AXES[self.time]
        runs = {}
        for block in blocks:
            self.known(block, {*axes_of, "settings"}, f"[[runs]] in {self.time} time")
            axes = [self.typed(block, name, list, default if default else list(self.applications)) for name,
                    default in axes_of.items()]
            own = settings_of(self.typed(block, "settings", dict, {}), self.path)
            settings = tuple(sorted((dict(common) | dict(own)).items()))
            for application, protocol, shape, network, page_size, size in itertools.product(*axes):
                network = VIRTUAL + network if self.virtual else network
                run = self.run(application, protocol, str(shape), network, page_size, size, settings)
                if protocol != "none" or run.nodes == 1:  # hardware coherence only exists within one node
                    runs[run] = None
        return list(runs)

    def run(self, application, protocol, shape, network, page_size, size, settings):
        if application not in self.applications:
            raise Refused(f"{self.path}: {application} is no application: there are {', '.join(self.applications)}")
        if size not in self.applications[application].sizes:
            sizes = ", ".join(self.applications[application].sizes)
            raise Refused(f"{self.path}: {application} has no size {size}: there are {sizes}")
        match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", shape)
        if not match:
            raise Refused(f"{self.path}: {shape!r} is no shape: it is NODESxPROCESSORS, such as 8x4")
        return Run(application, size, protocol, int(match[1]), int(match[2]), network, str(page_size), settings)

    def baselines(self):
        """Plain C, once for each application and size; in virtual time also for each machine."""
        machines = [(r.application, r.size, r.network if self.virtual else "none") for r in self.runs]
        return [Run(a, s, SEQUENTIAL, 1, 1, m, "none", ()) for a, s, m in dict.fromkeys(machines)]

    def arguments(self, run):
        return shlex.split(self.applications[run.application].sizes[run.size])
