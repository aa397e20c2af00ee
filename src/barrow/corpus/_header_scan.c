/* Records and header fields in bytes nobody vouches for.

   The same functions are written in Python in header_scan.py, which says what they do; tests hold
   the two against each other. Nothing is read outside the range that is given: every loop compares
   with its end, and bytes objects do not change while they are looked at. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define MAX_DIGITS 18

enum { ABSENT, FOUND, UNSURE };

static inline int is_blank(char c) { return c == ' ' || c == '\t'; }
static inline int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The place after the line end at or behind `at`, or NULL. */
static inline const char *next_line(const char *at, const char *stop) {
    const char *end = memchr(at, '\n', (size_t)(stop - at));
    return end ? end + 1 : NULL;
}

static const char *find_header_end(const char *at, const char *stop) {
    while ((at = next_line(at, stop))) {
        if (stop - at >= 1 && at[0] == '\n') return at + 1;
        if (stop - at >= 2 && at[0] == '\r' && at[1] == '\n') return at + 2;
    }
    return NULL;
}

/* Whether a line begins with a name, which is in lower case; the line has that many bytes. */
static inline int begins_with(const char *line, const char *name, Py_ssize_t size) {
    for (Py_ssize_t k = 0; k < size; k++) {
        char c = line[k];
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        if (c != name[k]) return 0;
    }
    return 1;
}

/* The first field of a name. UNSURE where its line goes on in the next one. */
static int find_field(const char *at, const char *stop, const char *name, Py_ssize_t size,
                      const char **value, const char **value_end) {
    for (; at; at = next_line(at, stop)) {
        if (stop - at <= size || !begins_with(at, name, size)) continue;
        const char *from = at + size;
        while (from < stop && is_blank(*from)) from++;
        if (from == stop) continue;
        if (*from == '\r' || *from == '\n') return UNSURE;
        if (*from++ != ':') continue;
        while (from < stop && is_blank(*from)) from++;
        const char *end = from;
        while (end < stop && *end != '\r' && *end != '\n') end++;
        const char *next = next_line(end, stop);
        if (next && next < stop && is_blank(*next)) return UNSURE;
        while (end > from && is_space(end[-1])) end--;
        *value = from;
        *value_end = end;
        return FOUND;
    }
    return ABSENT;
}

/* A number of at most MAX_DIGITS digits, or -1. */
static long long number(const char *at, const char *stop) {
    long long value = 0;
    if (at == stop || stop - at > MAX_DIGITS) return -1;
    for (; at < stop; at++) {
        if (*at < '0' || *at > '9') return -1;
        value = value * 10 + (*at - '0');
    }
    return value;
}

/* The arguments: bytes, then integers. */

static int as_bytes(PyObject *object, const char **data, Py_ssize_t *size) {
    char *bytes;
    if (PyBytes_AsStringAndSize(object, &bytes, size) < 0) return 0;
    *data = bytes;
    return 1;
}

static int has_number(Py_ssize_t found, Py_ssize_t expected) {
    if (found == expected) return 1;
    PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", expected, found);
    return 0;
}

/* As slices have it: at least 0, at most `size`; -1 with an exception set. */
static Py_ssize_t as_place(PyObject *object, Py_ssize_t size) {
    Py_ssize_t place = PyLong_AsSsize_t(object);
    if (place < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a place below 0");
        return -1;
    }
    return place < size ? place : size;
}

static PyObject *py_field(PyObject *module, PyObject *const *args, Py_ssize_t num) {
    (void)module;
    const char *data, *name, *value, *value_end;
    Py_ssize_t size, name_size;
    if (!has_number(num, 2) || !as_bytes(args[0], &data, &size) ||
        !as_bytes(args[1], &name, &name_size))
        return NULL;
    switch (find_field(data, data + size, name, name_size, &value, &value_end)) {
    case FOUND:
        return PyBytes_FromStringAndSize(value, value_end - value);
    case UNSURE:
        Py_RETURN_NOTIMPLEMENTED;
    default:
        Py_RETURN_NONE;
    }
}

static PyObject *py_header_end(PyObject *module, PyObject *const *args, Py_ssize_t num) {
    (void)module;
    const char *data;
    Py_ssize_t size, start, stop;
    if (!has_number(num, 3) || !as_bytes(args[0], &data, &size)) return NULL;
    if ((start = as_place(args[1], size)) < 0 || (stop = as_place(args[2], size)) < 0) return NULL;
    const char *end = start < stop ? find_header_end(data + start, data + stop) : NULL;
    return PyLong_FromSsize_t(end ? end - data : -1);
}

static PyObject *py_whole_record(PyObject *module, PyObject *const *args, Py_ssize_t num) {
    (void)module;
    const char *data, *value, *value_end;
    Py_ssize_t size, at, max_header;
    if (!has_number(num, 3) || !as_bytes(args[0], &data, &size)) return NULL;
    if ((at = as_place(args[1], size)) < 0) return NULL;
    if ((max_header = as_place(args[2], size - at)) < 0) return NULL;
    if (size - at < 5 || memcmp(data + at, "WARC/", 5)) Py_RETURN_NONE;
    const char *content = find_header_end(data + at, data + at + max_header);
    if (!content || find_field(data + at, content, "content-length", 14, &value, &value_end) != FOUND)
        Py_RETURN_NONE;
    Py_ssize_t start = content - data, left = size - start;
    long long length = number(value, value_end);
    if (length < 0 || length > left - 4) Py_RETURN_NONE;
    const char *end = content + length;
    if (memcmp(end, "\r\n\r\n", 4)) Py_RETURN_NONE;
    left -= (Py_ssize_t)length + 4;
    if (left && (left < 5 || memcmp(end + 4, "WARC/", 5))) Py_RETURN_NONE;
    return Py_BuildValue("nn", start, start + (Py_ssize_t)length);
}

#define METHOD(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

static PyMethodDef methods[] = {
    {"field", METHOD(py_field), "field(header, name) -> bytes | None | NotImplemented"},
    {"header_end", METHOD(py_header_end), "header_end(data, start, stop) -> int"},
    {"whole_record", METHOD(py_whole_record),
     "whole_record(data, at, max_header) -> tuple[int, int] | None"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_header_scan", NULL, 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__header_scan(void) { return PyModuleDef_Init(&definition); }
