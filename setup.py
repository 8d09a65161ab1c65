"""Builds the optional extensions. Everything else about the package is in pyproject.toml.

An extension that cannot be built never fails the install: the pure-Python twin serves, and
`native_build.txt` in the package says why, for `odradek --version`.
"""

import os
import shutil
import sysconfig
import zlib
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError, ExecError, PlatformError

SOURCE = Path("src")
CORES = os.cpu_count() or 1
REPORT = Path("odradek") / "native_build.txt"


def source_hash(path: Path) -> str:
    return f"{zlib.crc32(path.read_bytes()):08x}"


def extension(path: Path) -> Extension:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    return Extension(
        module,
        [str(path)],
        define_macros=[("ODRADEK_SOURCE_HASH", f'"{source_hash(path)}"')],
        extra_compile_args=["-O3", "-g0", "-fno-strict-aliasing"],  # debug symbols would take a fifth of the time
        optional=True,  # an editable install copies what was built, and only that
    )


def why_not(error: BaseException, compiler: list[str]) -> str:
    """The reason in words that tell the user what to install."""
    if compiler and shutil.which(compiler[0]) is None:
        return f"no compiler: {compiler[0]} was not found when odradek was installed"
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").exists():
        return "no Python.h: the Python development headers were not installed when odradek was installed"
    first_line = (str(error).splitlines() or [type(error).__name__])[0]
    return f"the compiler failed when odradek was installed: {first_line}"


class OptionalBuildExt(build_ext):
    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or CORES

    def run(self) -> None:
        self.failures: list[str] = []
        try:
            super().run()
        except (BaseError, CCompilerError, ExecError, PlatformError, OSError) as error:
            self.failures.append(why_not(error, self.compiler_command()))
        self.write_report()

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except (BaseError, CCompilerError, ExecError, PlatformError, OSError) as error:
            self.failures.append(why_not(error, self.compiler_command()))

    def compiler_command(self) -> list[str]:
        return list(getattr(self.compiler, "compiler", None) or [])

    def write_report(self) -> None:
        root = SOURCE if self.inplace or self.editable_mode else Path(self.build_lib)
        report = root / REPORT
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(self.failures[0] if self.failures else "compiled", encoding="utf-8")


setup(
    ext_modules=cythonize(
        [extension(path) for path in sorted(SOURCE.glob("odradek/**/_*.pyx"))],
        compiler_directives={"language_level": 3},
        nthreads=CORES,
    ),
    cmdclass={"build_ext": OptionalBuildExt},
)
