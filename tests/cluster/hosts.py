# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts and a launcher: network namespaces, joined pairwise by veth links, with an sshd in each host.

Addresses: link 1 joins launcher and a (10.231.1.0/24, fd00:231:1::/64), link 2 launcher and b, link 3 a and b; no way
leads to a host c.  All processes see the same files
and processes, so what a job leaves behind is found from here."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

NEEDED = ("ip", "ssh", "sshd", "ssh-keygen")
LINKS = {1: ("l", "a"), 2: ("l", "b"), 3: ("a", "b")}
PORT = 2231


SHELL = """#!/bin/sh
# In place of ssh: a command on a host, where the folder that this is started from is empty, except on host a.
host=$1
shift
[ "$1" = -- ] && shift
[ $host = a ] || exec ip netns exec TAG$host unshare -m sh -c "mount -t tmpfs none '$PWD' && $*"
exec ip netns exec TAG$host sh -c "$*"
"""


def missing(needed=NEEDED):
    """Why this cannot be tested here, or None."""
    absent = [n for n in needed if not shutil.which(n) and not os.path.exists("/usr/sbin/" + n)]
    if absent:
        return "no " + ", ".join(absent)
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"twp{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode:
        return "no network namespaces here"
    subprocess.run(["ip", "netns", "del", probe], check=False)
    return None


class Hosts:
    def __init__(self, ssh=True):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that __exit__ removes them
        self.ssh = ssh  # else a shell script takes its place
        self.tag = f"tw{os.getpid() % 100000}"
        self.place = tempfile.mkdtemp(prefix="tweed-hosts-", dir="/root")
        self.daemons = []
        self.six = True  # the kernel has IPv6

    def name(self, host):
        return f"{self.tag}{host}"

    def ip(self, *args):
        subprocess.run(["ip", *args], check=True, capture_output=True)

    def inside(self, host, command, **more):
        return subprocess.Popen(["ip", "netns", "exec", self.name(host), *command], **more)

    def __enter__(self):
        for host in "lab":
            self.ip("netns", "add", self.name(host))
            self.ip("-n", self.name(host), "link", "set", "lo", "up")
        for number, (one, other) in LINKS.items():
            self.ip("-n", self.name(one), "link", "add", f"v{number}{one}", "type", "veth", "peer", "name",
                    f"v{number}{other}",
                    "netns", self.name(other))
            for last, host in ((1, one), (2, other)):
                self.ip("-n", self.name(host), "address", "add", f"10.231.{number}.{last}/24", "dev",
                        f"v{number}{host}")
                self.six &= subprocess.run(["ip", "-n", self.name(host), "address", "add",
                                            f"fd00:231:{number}::{last}/64", "dev",
                                            f"v{number}{host}", "nodad"], check=False,
                                           capture_output=True).returncode == 0
                self.ip("-n", self.name(host), "link", "set", f"v{number}{host}", "up")
        if not self.ssh:
            self.rsh = f"{self.place}/shell"
            with open(self.rsh, "w", opener=lambda name, flags: os.open(name, flags, 0o755), encoding="ascii") as f:
                f.write(SHELL.replace("TAG", self.tag))
            return self
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.place}/{key}"], check=True)
        shutil.copy(f"{self.place}/user.pub", f"{self.place}/authorized")
        with open(f"{self.place}/sshd", "w", encoding="ascii") as f:
            # SHLVL: so bash does not read somebody's .bashrc, and what that may print does not go to the job's output.
            f.write(f"Port {PORT}\nSetEnv SHLVL=2\nHostKey {self.place}/host\nAuthorizedKeysFile "
                    f"{self.place}/authorized\nUsePAM no\n"
                    f"StrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n")
        os.makedirs("/run/sshd", exist_ok=True)
        for host in "ab":
            self.daemons.append(self.inside(host, ["/usr/sbin/sshd", "-D", "-e", "-f", f"{self.place}/sshd"],
                                            stderr=subprocess.DEVNULL))
        with open(f"{self.place}/ssh", "w", encoding="ascii") as f:
            f.write(f"Host a\n HostName 10.231.1.2\nHost b\n HostName 10.231.2.2\nHost c\n HostName 10.231.9.9\n "
                    f"ConnectionAttempts 1\nHost *\n Port {PORT}\n User root\n"
                    f" IdentityFile {self.place}/user\n IdentitiesOnly yes\n StrictHostKeyChecking no\n"
                    f" UserKnownHostsFile /dev/null\n LogLevel ERROR\n ConnectTimeout 5\n ConnectionAttempts 5\n")
        self.rsh = f"ssh -F {self.place}/ssh"
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait()
        for host in "lab":
            subprocess.run(["ip", "netns", "del", self.name(host)], check=False)
        shutil.rmtree(self.place)

    def cut(self, number, down=True, silently=False):
        """Cut a link, or join it again: take both ends down, or let every packet go to nobody, which no end can see."""
        for last, host in ((2, LINKS[number][0]), (1, LINKS[number][1])):
            device = f"v{number}{host}"
            if not silently:
                self.ip("-n", self.name(host), "link", "set", device, "down" if down else "up")
            elif down:
                self.ip("-n", self.name(host), "neigh", "replace", f"10.231.{number}.{last}", "lladdr",
                        "02:00:00:00:00:99",
                        "dev", device, "nud", "permanent")
            else:
                self.ip("-n", self.name(host), "neigh", "del", f"10.231.{number}.{last}", "dev", device)
