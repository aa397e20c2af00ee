"""The parts that want a compiler, and are left out where there is none."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"barrow.{name}",
            [f"src/barrow/{name.replace('.', '/')}.c"],
            extra_compile_args=["-O3"],
            py_limited_api=True,
            optional=True,
        )
        for name in ("archive._scan", "corpus._header_scan")
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
