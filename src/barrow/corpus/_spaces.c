/* One space between the words of a text: `barrow.corpus.one_spaced` in one pass over its UTF-8.

   A text that is so already is given back itself; what cannot be UTF-8 gives None. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum { PLAIN, WHITE, DROPPED };
typedef const uint8_t *Bytes;

/* What the character at a place is, and how many bytes it has; all that str.split() parts words at
   is white, other controls and byte order marks are dropped. */
static int kind_of(Bytes at, int *length) {
    uint8_t c = at[0];
    *length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (c < 0x80) {
        int is_white = c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
        return is_white ? WHITE : c < 0x20 || c == 0x7F ? DROPPED : PLAIN;
    }
    if (c == 0xC2)
        return at[1] == 0x85 || at[1] == 0xA0 ? WHITE : at[1] < 0xA0 ? DROPPED : PLAIN;
    int is_white = (c == 0xE1 && at[1] == 0x9A && at[2] == 0x80) ||
                   (c == 0xE2 && at[1] == 0x80 &&
                    (at[2] <= 0x8A || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF)) ||
                   (c == 0xE2 && at[1] == 0x81 && at[2] == 0x9F) ||
                   (c == 0xE3 && at[1] == 0x80 && at[2] == 0x80);
    int is_mark = c == 0xEF && at[1] == 0xBB && at[2] == 0xBF;
    return is_white ? WHITE : is_mark ? DROPPED : PLAIN;
}

static int is_one_spaced(Bytes at, Bytes end) {
    int length;
    uint8_t before = ' ';
    for (; at < end; at += length) {
        uint8_t c = *at;
        if (c > ' ' && c < 0x7F)
            length = 1;
        else if (c == ' ' ? before == ' ' : kind_of(at, &length) != PLAIN)
            return 0;
        else if (c == ' ')
            length = 1;
        before = c;
    }
    return before != ' ';
}

static PyObject *one_spaced(PyObject *Py_UNUSED(module), PyObject *text) {
    Py_ssize_t size;
    Bytes at = (Bytes)PyUnicode_AsUTF8AndSize(text, &size);
    if (!at) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return NULL;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    Bytes end = at + size;
    if (!size || is_one_spaced(at, end)) {
        Py_INCREF(text);
        return text;
    }
    uint8_t *made = PyMem_Malloc((size_t)size), *out = made;
    if (!made)
        return PyErr_NoMemory();
    int length, is_owed = 0;
    for (; at < end; at += length) {
        int kind = kind_of(at, &length);
        if (kind == WHITE)
            is_owed = 1;
        if (kind != PLAIN)
            continue;
        if (is_owed && out > made)
            *out++ = ' ';
        is_owed = 0;
        for (int i = 0; i < length; i++)
            *out++ = at[i];
    }
    PyObject *result = PyUnicode_DecodeUTF8((const char *)made, out - made, NULL);
    PyMem_Free(made);
    return result;
}

static PyMethodDef methods[] = {{"one_spaced", one_spaced, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_spaces", NULL, 0, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__spaces(void) { return PyModuleDef_Init(&module); }
