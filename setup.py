"""The part that needs a compiler, and is left out where there is none."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "barrow.archive._scan",
            ["src/barrow/archive/_scan.c"],
            extra_compile_args=["-O3"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
