"""The parts that want a compiler, and are left out where there is none."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"barrow.{package}.{name}",
            [f"src/barrow/{package}/{name}.c"],
            extra_compile_args=["-O3"],
            py_limited_api=True,
            optional=True,
        )
        for package, name in (
            ("archive", "_scan"),
            ("corpus", "_feed"),
            ("corpus", "_header_scan"),
            ("corpus", "_spaces"),
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
