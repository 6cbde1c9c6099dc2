"""What .ci/dist leaves to Python: reading manifests, writing archives, and looking into them.

    dist.py repository [URL]                    compares where the packages say that they come from
    dist.py crates                              the fields of every crate that is published
    dist.py sbom FILE ROOT                      takes from an SBOM what differs from run to run
    dist.py page COMMAND VERSION                a manual page, of the --help that is read
    dist.py source NAME OUT                     an archive of the files of the repository
    dist.py pack FOLDER OUT                     an archive of a folder
    dist.py mapped WHEEL                        takes this folder's name out of a wheel's SBOM
    dist.py wheel FILE LIBRARY_LIMIT LIMIT      what a wheel contains; its sizes, at most so many MB
    dist.py glibc LIMIT FILE...                 fails for a program that needs a newer glibc
    dist.py musl WHEEL                          fails for a wheel that needs more than musl 1.2
    dist.py checksums FOLDER                    SHA256SUMS of all files of a folder

Archives of the same files are the same bytes: sorted by name, of nobody, at SOURCE_DATE_EPOCH.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
PUBLISHED = ["wgpu-bcfsort", "bcfsort-auto", "wgsl-lockstep"]
# A host of nobody (RFC 2606).
PLACEHOLDER = "https://example.org/"


def fail(message: str) -> None:
    sys.exit(f"dist: {message}")


def foreign(name: str, data: bytes) -> None:
    """Fails for a file that names a folder of this machine."""
    for folder in (Path.cwd(), Path(os.environ.get("CARGO_HOME", "~/.cargo")).expanduser()):
        # (A folder such as '/build' is no machine's own.)
        if len(folder.parts) > 2 and str(folder).encode() in data:
            fail(f"{name} names {folder}: what is made must not depend on where it is made")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def metadata(manifest: str, *options: str) -> dict:
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    return json.loads(output(*command, "--manifest-path", manifest, *options))


def repository(url: str | None = None) -> None:
    lines = {
        "Cargo.toml": r'^repository = "(.*)"$',
        "integrations/python/pyproject.toml": r'^Repository = "(.*)"$',
        "integrations/web/package.json": r'^ *"url": "git\+(.*)\.git",?$',
    }
    places = {}
    for file, line in lines.items():
        text = Path(file).read_text()
        found = re.search(line, text, re.MULTILINE)
        if found is None:
            fail(f"{file} has no line of the repository's address: {line}")
        place = found[1]
        if url is not None:
            # (And what lies below it: the list of changes, the issues.)
            text = text.replace(place, url.rstrip("/").removesuffix(".git"))
            Path(file).write_text(text, newline="\n")
            place = re.search(line, text, re.MULTILINE)[1]
        others = [at for at in re.findall(r"https?://[^\"\s]+", text) if not at.startswith(place)]
        if others:
            fail(f"{file} names another address than its repository's: {', '.join(others)}")
        places[file] = place
    if len(set(places.values())) != 1:
        said = "; ".join(f"{file}: {place}" for file, place in places.items())
        fail(f"the packages name several repositories: set one by .ci/dist repository URL. {said}")
    (place,) = set(places.values())
    print(f"repository: {place}")
    if place.startswith(PLACEHOLDER):
        print("repository: a placeholder: set it by .ci/dist repository URL before a release")


def crates() -> None:
    packages = {
        package["name"]: package for package in metadata("Cargo.toml", "--no-deps")["packages"]
    }
    version = packages[PUBLISHED[0]]["version"]
    wrong = []
    for name in PUBLISHED:
        package = packages[name]
        folder = Path(package["manifest_path"]).parent
        missing = [
            field
            for field in ("description", "license", "repository", "readme", "rust_version")
            if not package[field]
        ]
        missing += [field for field in ("keywords", "categories") if not package[field]]
        if missing:
            wrong.append(f"{name} has no {', '.join(missing)}")
        if package["version"] != version:
            wrong.append(f"{name} is {package['version']}, and {PUBLISHED[0]} {version}")
        if len(package["keywords"]) > 5 or any(len(word) > 20 for word in package["keywords"]):
            wrong.append(f"{name}: the registry takes 5 keywords of 20 characters")
        wrong += [
            f"{name}: {folder / file} is missing"
            for file in ("README.md", "LICENSE-MIT", "LICENSE-APACHE")
            if not (folder / file).is_file()
        ]
        documented = ((package["metadata"] or {}).get("docs") or {}).get("rs") or {}
        for feature in documented.get("features", []):
            if feature not in package["features"]:
                wrong.append(f"{name}: docs.rs is to build a feature that is none: {feature}")
        for dependency in package["dependencies"]:
            if dependency["kind"] != "dev" and dependency["req"] == "*":
                wrong.append(f"{name}: its dependency {dependency['name']} has no version")
        print(f"{name} {package['version']}: Rust {package['rust_version']}, {package['license']}")
    if wrong:
        fail("; ".join(wrong))


def sbom(file: str, root: str) -> None:
    """Makes the same SBOM of the same sources, wherever they lie."""
    text = Path(file).read_text().replace(root, "/bcfsort")
    said = json.loads(text)
    said.pop("serialNumber", None)
    said.get("metadata", {}).pop("timestamp", None)
    if not said.get("components"):
        fail(f"{file} names no component")
    Path(file).write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")
    print(f"SBOM: {len(said['components'])} components")


def page(command: str, version: str) -> None:
    help_text = sys.stdin.read().replace("\r\n", "\n").rstrip("\n")
    first, *rest = help_text.split("\n")
    quoted = [line.replace("\\", "\\e") for line in rest]
    # (A line that begins with either is a request.)
    quoted = [f"\\&{line}" if line[:1] in (".", "'") else line for line in quoted]
    print(f'.TH "{command}" 1 "" "{command} {version}"')
    print(".SH NAME")
    print(f"{command} \\- {first}".replace("-", "\\-").replace("\\\\-", "\\-"))
    print(".SH DESCRIPTION\n.nf")
    print("\n".join(quoted).strip("\n"))
    print(".fi")


def archive(files: list[tuple[str, Path]], out: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in sorted(files):
            info = tarfile.TarInfo(name)
            info.mtime = EPOCH
            if path.is_symlink():
                info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
                tar.addfile(info)
                continue
            data = path.read_bytes()
            info.size = len(data)
            is_program = os.access(path, os.X_OK) or path.suffix == ".exe"
            info.mode = 0o755 if is_program else 0o644
            tar.addfile(info, io.BytesIO(data))
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, EPOCH) as zipped:
        zipped.write(packed.getvalue())
    print(f"{out}: {len(files)} files, {Path(out).stat().st_size / 1e6:.1f} MB")


def source(name: str, out: str) -> None:
    files = [Path(file) for file in output("git", "ls-files", "-z").split("\0") if file]
    archive([(f"{name}/{file}", file) for file in files if os.path.lexists(file)], out)


def pack(folder: str, out: str) -> None:
    root = Path(folder)
    files = [path for path in root.rglob("*") if path.is_symlink() or path.is_file()]
    names = [(path.relative_to(root.parent).as_posix(), path) for path in files]
    for name, path in names:
        foreign(name, path.read_bytes())
    archive(names, out)


def mapped(file: str) -> None:
    with zipfile.ZipFile(file) as zipped:
        members = [(info, zipped.read(info)) for info in zipped.infolist()]
    lines = {}
    for i, (info, data) in enumerate(members):
        if "/sboms/" in info.filename:
            data = data.replace(Path.cwd().as_uri().encode(), b"file:///bcfsort")
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            lines[info.filename] = f"{info.filename},sha256={digest},{len(data)}"
            members[i] = (info, data)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for info, data in members:
            if info.filename.endswith(".dist-info/RECORD"):
                record = data.decode().splitlines()
                record = [lines.get(line.split(",")[0], line) for line in record]
                data = "".join(f"{line}\n" for line in record).encode()
            zipped.writestr(info, data)


def wheel(file: str, library_limit: str, limit: str) -> None:
    with zipfile.ZipFile(file) as zipped:
        sizes = {info.filename: info.file_size for info in zipped.infolist()}
        said = next(name for name in sizes if name.endswith(".dist-info/METADATA"))
        fields = zipped.read(said).decode()
        for name in sizes:
            foreign(f"{file}: {name}", zipped.read(name))
    libraries = [name for name in sizes if name.endswith((".so", ".pyd", ".dll"))]
    if len(libraries) != 1:
        fail(f"{file}: one library is to be in a wheel, not {libraries}")
    for wanted in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSE-THIRD-PARTY"):
        if not any(name.endswith(f"/licenses/{wanted}") for name in sizes):
            fail(f"{file}: {wanted} is not in it")
    if not any("/sboms/" in name for name in sizes):
        fail(f"{file}: no SBOM is in it")
    for wanted in ("License-Expression: MIT OR Apache-2.0", "Project-URL: ", "Classifier: "):
        if wanted not in fields:
            fail(f"{file}: its metadata has no line '{wanted}'")
    unpacked, packed = sizes[libraries[0]] / 1e6, Path(file).stat().st_size / 1e6
    print(f"{Path(file).name}: {packed:.2f} MB; its library unpacked {unpacked:.2f} MB")
    if unpacked > float(library_limit) or packed > float(limit):
        fail(
            f"{file} is larger than {library_limit} MB unpacked and {limit} MB packed: see what a "
            "dependency brings ('cargo tree -e features', 'cargo bloat'), or raise the limits"
        )


def glibc(limit: str, *files: str) -> None:
    def number(version: str) -> tuple[int, ...]:
        return tuple(map(int, version.split(".")))

    for file in files:
        needed = re.findall(rb"\0GLIBC_(\d+(?:\.\d+)+)(?=\0)", Path(file).read_bytes())
        highest = max((version.decode() for version in needed), key=number, default="0")
        print(f"{Path(file).name}: needs glibc {highest}")
        if highest == "0" or number(highest) > number(limit):
            fail(f"{file} is to run on glibc {limit}, and needs {highest}")


# What came to musl after 1.2.0: programs must do without where it is missing.
MUSL_LATER = {"_Fork", "gettid", "preadv2", "pwritev2", "qsort_r", "reallocarray", "statx"}


def musl(file: str) -> None:
    """Compares what a wheel's library needs with what musl has, as Zig's list of it says. (What
    auditwheel says depends on the C library of the system that it runs on. The Python of
    DIR/dist-tools has the modules for this.)"""
    import ziglang
    from elftools.elf.elffile import ELFFile

    listed = Path(ziglang.__file__).parent / "lib/libc/musl/libc.S"
    line = re.compile(r"^(?:\.globl|\.weak|WEAK64|WEAKTIME64) (\w+)", re.MULTILINE)
    known = set(line.findall(listed.read_text())) - MUSL_LATER
    if "malloc" not in known or "clock_gettime" not in known:
        fail(f"{listed} does not list musl's functions as it did: see dist.py")
    with zipfile.ZipFile(file) as zipped:
        (name,) = (name for name in zipped.namelist() if name.endswith(".so"))
        library = ELFFile(io.BytesIO(zipped.read(name)))
    machine = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}[library["e_machine"]]
    if not file.endswith(f"-musllinux_1_2_{machine}.whl"):
        fail(f"{file} has a library for {machine}, and is not named for it and musl 1.2")
    # (The loader of musl takes both names for itself: on Alpine, no file has the first.)
    own = {"libc.so", f"libc.musl-{machine}.so.1"}
    dynamic = library.get_section_by_name(".dynamic")
    needed = sorted({tag.needed for tag in dynamic.iter_tags("DT_NEEDED")})
    wanted = {
        symbol.name
        for symbol in library.get_section_by_name(".dynsym").iter_symbols()
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_WEAK"
    }
    wanted = {name for name in wanted if name and not name.startswith(("Py", "_Py"))}
    if not needed or set(needed) - own:
        fail(f"{file} needs {', '.join(needed) or 'no C library'}, and may need musl's alone")
    if wanted - known:
        fail(f"{file} needs what musl 1.2.0 has not: {', '.join(sorted(wanted - known))}")
    print(f"{Path(file).name}: needs {needed[0]} with {len(wanted)} symbols of musl 1.2.0")


def checksums(folder: str) -> None:
    files = sorted(file for file in Path(folder).iterdir() if file.is_file())
    files = [file for file in files if file.name != "SHA256SUMS"]
    if not files:
        fail(f"{folder} is empty")
    with open(Path(folder, "SHA256SUMS"), "w", newline="\n") as sums:
        for file in files:
            sums.write(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
            print(f"{file.stat().st_size / 1e6:8.2f} MB  {file.name}")


if __name__ == "__main__":
    parts = [
        repository,
        crates,
        sbom,
        page,
        source,
        pack,
        mapped,
        wheel,
        glibc,
        musl,
        checksums,
    ]
    known = {part.__name__: part for part in parts}
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        sys.exit(__doc__)
    known[sys.argv[1]](*sys.argv[2:])
