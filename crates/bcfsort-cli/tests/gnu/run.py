#!/usr/bin/env python3
"""Runs the tests of `sort` of GNU coreutils and of uutils on `wgpu-bcfsort sort -f lines`.

    run.py COMMAND --gnu CHECKOUT --uutils CHECKOUT

COMMAND is a built wgpu-bcfsort; each CHECKOUT is a clone of that project. Nothing of them is kept
here. The script `sort` beside this one translates the options.

Tests that fail are listed in `failing.txt`, each with its reason. The list only gets shorter: a
test that fails and is not in it is an error, and so is one in it that passes. Reasons that begin
with "not claimed:" concern what this command does not claim to do; of all other tests, at least
85 % must pass.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LEAST = 0.85


def call(command, **more):
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False, **more
    )


def latin1(text):
    return text.encode("latin-1")


def files_of(rules, key):
    """The files that a test's rules describe: name and content. `None`: content without a name."""
    files = []
    for rule in rules:
        for content in [rule[key]] if key in rule else []:
            if isinstance(content, dict):
                files += [(name, text) for name, text in content.items()]
            else:
                files.append((None, content))
    return files


def run_of_perl(test, environment, by_pipe):
    """Whether a test of a Perl script passes."""
    rules = test["rules"]
    value = lambda key, default: next((rule[key] for rule in rules if key in rule), default)
    with tempfile.TemporaryDirectory() as folder:
        words = " ".join(test["arguments"])
        inputs = files_of(rules, "IN")
        for number, (name, content) in enumerate(inputs):
            name = name or f"in{number}"
            pathlib.Path(folder, name).write_bytes(latin1(content))
            # (A '<' in the arguments says that the next file is standard input.)
            words += f" < {name}" if by_pipe else f" {name}"
        for name, content in files_of(rules, "AUX"):
            name = name or "aux"
            pathlib.Path(folder, name).write_bytes(latin1(content))
            words = words.replace("@AUX@", name)
        done = call(f"sort {words}", shell=True, cwd=folder, env=environment)
        good = done.returncode == value("EXIT", 0)
        if value("EXIT", 0) == 0 or "OUT" in {key for rule in rules for key in rule}:
            good &= done.stdout == latin1(value("OUT", ""))
        for rule in rules:
            if "CMP" in rule:
                expected, others = rule["CMP"]
                good &= pathlib.Path(folder, *others).read_bytes() == latin1(expected)
        return good


def perl_tests(scripts, environment):
    """Runs the tests of GNU's Perl scripts."""
    for name in ("sort.pl", "sort-merge.pl", "sort-files0-from.pl"):
        listed = call(
            ["perl", "-I", HERE, "-MCoreutils", scripts / name], env=environment
        )
        if not listed.stdout:
            sys.exit(f"{name}: {listed.stderr.decode()}")
        for test in json.loads(listed.stdout.decode("latin-1")):
            good = run_of_perl(test, environment, by_pipe=False)
            if good and len(files_of(test["rules"], "IN")) == 1 and "<" not in test["arguments"]:
                good = run_of_perl(test, environment, by_pipe=True) or "CMP" in str(test)
            yield f"gnu {name} {test['name']}", good


def shell_tests(scripts, environment):
    """Runs GNU's shell scripts, each one test."""
    for script in sorted(scripts.glob("*.sh")):
        with tempfile.TemporaryDirectory() as folder:
            tests = pathlib.Path(folder, "tests")
            tests.mkdir()
            shutil.copy(HERE / "init.sh", tests)
            done = call(["bash", script], cwd=folder, env=environment | {"srcdir": folder})
        if done.returncode != 77:
            yield f"gnu {script.name}", done.returncode == 0


MANIFEST = """\
[workspace]
[package]
name = "tests-of-uutils"
edition = "2024"
autotests = false
[[test]]
name = "sort"
[dev-dependencies]
uutests = "{version}"
bytecount = "0.6"
rand = "0.10"
rlimit = "0.11"
rustix = {{ version = "1", features = ["process"] }}
"""


def uutils_tests(checkout, environment, target):
    """Builds uutils' tests of sort with the crate uutests, and runs them one by one."""
    project = target / "tests-of-uutils"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "tests").mkdir(exist_ok=True)
    workspace = (checkout / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"', workspace, re.M).group(1)
    (project / "Cargo.toml").write_text(MANIFEST.format(version=version))
    (project / "src/lib.rs").write_text("")
    program = (checkout / "tests/by-util/test_sort.rs").read_text()
    # (What most tests do with --debug, after the same without it, would hide their results.)
    program, removed = re.subn(r"new_ucmd!\(\)[^;]*--debug[^;]*\.expected\.debug[^;]*;", "", program)
    if not removed:
        sys.exit("uutils: the function of most tests is not found in test_sort.rs")
    # (The name of the module is that of the program in them.)
    (project / "tests/test_sort.rs").write_text(program)
    (project / "tests/sort.rs").write_text("mod test_sort;\n")
    fixtures = project / "tests/fixtures/sort"
    shutil.rmtree(fixtures, ignore_errors=True)
    shutil.copytree(checkout / "tests/fixtures/sort", fixtures)
    # (The tests clear the environment of what they run.)
    wrapper = project / "coreutils"
    variables = "".join(
        f"export {name}='{environment[name]}'\n" for name in ("PATH", "WGPU_BCFSORT")
    )
    wrapper.write_text(f"#!/bin/sh\n{variables}shift\nexec '{HERE}/sort' \"$@\"\n")
    wrapper.chmod(0o755)
    done = subprocess.run(
        ["cargo", "test", "--test", "sort", "--", "--test-threads=2"],
        cwd=project, env=environment | {"UUTESTS_BINARY_PATH": str(wrapper)},
        capture_output=True, text=True, check=False,
    )
    found = re.findall(r"^test test_sort::(\S+) \.\.\. (ok|FAILED)", done.stdout, re.M)
    if not found:
        sys.exit(f"uutils: no test ran\n{done.stderr}")
    for name, result in found:
        yield f"uutils {name}", result == "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("--gnu", type=pathlib.Path)
    parser.add_argument("--uutils", type=pathlib.Path)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--list", action="store_true", help="print each test and its result")
    given = parser.parse_args()
    environment = dict(os.environ)
    environment |= {"LC_ALL": "C", "WGPU_BCFSORT": str(given.command.resolve())}
    environment["PATH"] = f"{HERE}:{environment['PATH']}"

    known = {}
    for line in (HERE / "failing.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            known[name] = reason

    results = {}
    if given.gnu:
        results |= perl_tests(given.gnu / "tests/sort", environment)
        results |= shell_tests(given.gnu / "tests/sort", environment)
    if given.uutils:
        results |= uutils_tests(given.uutils, environment, given.target.resolve())

    problems = 0
    for name, good in sorted(results.items()):
        if given.list:
            print("ok  " if good else "FAIL", name)
        if not good and name not in known:
            print(f"fails, and is not in failing.txt: {name}")
            problems += 1
        if good and name in known:
            print(f"passes: take it out of failing.txt: {name}")
            problems += 1
    claimed = [
        good
        for name, good in results.items()
        if not known.get(name, "").startswith("not claimed:")
    ]
    share = sum(claimed) / max(len(claimed), 1)
    print(f"{sum(results.values())} of {len(results)} tests pass; of the {len(claimed)} that "
          f"concern what is claimed, {share:.1%}")
    print(f"{len(results) - problems} passed, {problems} failed")
    sys.exit(problems > 0 or share < LEAST)


if __name__ == "__main__":
    main()
