/* XML to the methods of a writer, for XML that is plainly well-formed.

   feed() goes over an element twice. The first time it only looks: whatever it does not know for
   certain to be well-formed (a declaration, CDATA, a name or a tag it would have to think about, a
   carriage return, invalid UTF-8, deep nesting) makes it give up before anything was called, and the
   caller has expat read the element, which also finds the words for what is wrong. So this file
   decides nothing: it is either right or silent. The second time tags go to the writer, and text to
   a list, without a frame of Python's for tags that mean nothing.

   Why no loop needs a bound of its own: a bytes object ends with a zero byte behind its last one,
   every loop stops at a zero, and a zero before the end makes the first pass give up. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define MAX_DEPTH 256
#define MAX_ATTRIBUTES 32
#define NUM_NAMES 256 /* a power of two */

typedef const uint8_t *Bytes;
typedef struct {
    Bytes at;
    size_t length;
} Span;

/* Looking ---------------------------------------------------------------------------------------- */

static int is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static int is_name_start(uint8_t c) { return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_'; }
static int is_name(uint8_t c) {
    return is_name_start(c) || is_digit(c) || c == '-' || c == '.' || c == ':';
}
static int is_white(uint8_t c) { return c == ' ' || c == '\n' || c == '\t'; }

static Span name_at(Bytes at) {
    Bytes from = at;
    if (is_name_start(*at))
        while (is_name(*at))
            at++;
    return (Span){from, (size_t)(at - from)};
}

static int is_same(Span a, Span b) { return a.length == b.length && !memcmp(a.at, b.at, a.length); }

/* The character that a reference means, and where it ends; 0 if it is none we know. */
static uint32_t reference(Bytes at, Bytes *end) {
    static const struct {
        const char *text;
        uint8_t length, means;
    } named[] = {{"&lt;", 4, '<'}, {"&gt;", 4, '>'}, {"&amp;", 5, '&'}, {"&quot;", 6, '"'}, {"&apos;", 6, '\''}};
    uint32_t value = 0;
    if (at[1] != '#') {
        for (int i = 0; i < 5; i++)
            if (!strncmp((const char *)at, named[i].text, named[i].length)) {
                *end = at + named[i].length;
                return named[i].means;
            }
        return 0;
    }
    int is_hex = at[2] == 'x';
    at += is_hex ? 3 : 2;
    for (; value < 0x110000 && *at != ';'; at++) {
        uint8_t letter = *at | 32;
        int is_letter = is_hex && letter >= 'a' && letter <= 'f';
        if (!is_digit(*at) && !is_letter)
            return 0;
        value = value * (is_hex ? 16 : 10) + (is_letter ? letter - 'a' + 10u : *at - (unsigned)'0');
    }
    *end = at + 1;
    int is_bad = value >= 0x110000 || (value < 0x20 && value != 9 && value != 10 && value != 13) ||
                 value - 0xD800 < 0x800 || (value & 0xFFFE) == 0xFFFE;
    return is_bad ? 0 : value;
}

/* Where a character that is not ASCII ends; NULL if it is none, or no character of XML. */
static Bytes behind(Bytes at) {
    uint8_t c = at[0];
    if (c < 0xC2 || c > 0xF4 || (at[1] & 0xC0) != 0x80)
        return NULL;
    if (c < 0xE0)
        return at + 2;
    if ((at[2] & 0xC0) != 0x80)
        return NULL;
    if (c < 0xF0) {
        int is_bad = (c == 0xE0 && at[1] < 0xA0) || (c == 0xED && at[1] > 0x9F) ||
                     (c == 0xEF && at[1] == 0xBF && at[2] > 0xBD);
        return is_bad ? NULL : at + 3;
    }
    int is_bad = (at[3] & 0xC0) != 0x80 || (c == 0xF0 && at[1] < 0x90) || (c == 0xF4 && at[1] > 0x8F);
    return is_bad ? NULL : at + 4;
}

/* What ends a run of plain characters: 1 for what is looked at more closely, in text. */
static const uint8_t *special(void) {
    static uint8_t table[256];
    if (!table['<']) {
        memset(table, 1, 32);
        memset(table + 128, 1, 128);
        table['\t'] = table['\n'] = 0;
        table['&'] = table[']'] = table['<'] = 1;
    }
    return table;
}

static int is_comment(Bytes at) { return at[0] == '<' && at[1] == '!' && at[2] == '-' && at[3] == '-'; }

/* Where a comment ends; NULL if it may not be well-formed. */
static Bytes comment_end(Bytes at) {
    for (at += 4; at && !(at[0] == '-' && at[1] == '-');)
        at = *at >= 0x80 ? behind(at) : *at < 0x20 && !is_white(*at) ? NULL : at + 1;
    return at && at[2] == '>' ? at + 3 : NULL;
}

/* Where text ends that is well-formed: at a tag, or at the end; NULL if it may not be. */
static Bytes text_end(Bytes at, const uint8_t *is_special) {
    for (;;) {
        while (!is_special[*at])
            at++;
        if (is_comment(at)) {
            if (!(at = comment_end(at)))
                return NULL;
        } else if (*at == '<' || !*at) {
            return at;
        } else if (*at == '&') {
            if (!reference(at, &at))
                return NULL;
        } else if (*at == ']') {
            if (at[1] == ']')
                return NULL;
            at++;
        } else if (!(at = *at < 0x80 ? NULL : behind(at)))
            return NULL;
    }
}

/* Where a start tag ends, from behind its name; NULL if it may not be well-formed. */
static Bytes attributes_end(Bytes at) {
    Span names[MAX_ATTRIBUTES];
    for (int num = 0;; num++) {
        Bytes white = at;
        while (is_white(*at))
            at++;
        if (*at == '>' || (*at == '/' && at[1] == '>'))
            return at;
        if (at == white || num == MAX_ATTRIBUTES || !(names[num] = name_at(at)).length)
            return NULL;
        for (int i = 0; i < num; i++)
            if (is_same(names[i], names[num]))
                return NULL;
        at += names[num].length;
        uint8_t quote = at[0] == '=' ? at[1] : 0;
        if (quote != '"' && quote != '\'')
            return NULL;
        for (at += 2; *at != quote;) {
            if (*at < 0x20 || *at == '<')
                return NULL;
            if (*at == '&' ? !reference(at, &at) : *at < 0x80 ? (at++, 0) : !(at = behind(at)))
                return NULL;
        }
        at++;
    }
}

static int is_plain(Bytes data, size_t size) {
    const uint8_t *is_special = special();
    Span open[MAX_DEPTH];
    int depth = 0;
    Bytes at = data;
    if (*at != '<')
        return 0;
    do {
        if (at[1] == '/') {
            Span name = name_at(at + 2);
            if (!depth || !is_same(name, open[--depth]) || name.at[name.length] != '>')
                return 0;
            at = name.at + name.length + 1;
        } else {
            Span name = name_at(at + 1);
            Bytes end = name.length ? attributes_end(name.at + name.length) : NULL;
            if (!end || depth == MAX_DEPTH)
                return 0;
            if (*end == '>')
                open[depth++] = name;
            at = end + (*end == '>' ? 1 : 2);
        }
        if (depth && (!(at = text_end(at, is_special)) || *at != '<'))
            return 0;
    } while (depth);
    return at == data + size;
}

/* Calling ---------------------------------------------------------------------------------------- */

typedef struct {
    Span span;
    PyObject *name, *start, *end; /* the last two are borrowed from the writer's tables, or NULL */
} Name;

typedef struct {
    PyObject *writer, *starts, *ends, *handlers;
    PyObject *usual_start, *usual_end; /* what `handlers` held first, which the writer keeps */
    uint8_t *text;                     /* as long as the whole */
    Name names[NUM_NAMES];
    Name keys[NUM_NAMES]; /* of attributes; apart, for a name must stay while its tag is sent */
} Feed;

static Name *named(Feed *feed, Name *table, Span span) {
    uint32_t hash = (uint32_t)span.length;
    for (size_t i = 0; i < span.length; i++)
        hash = hash * 31 + span.at[i];
    Name *found = &table[(hash ^ hash >> 8) & (NUM_NAMES - 1)];
    if (found->name && is_same(found->span, span))
        return found;
    PyObject *name = PyUnicode_DecodeUTF8((const char *)span.at, (Py_ssize_t)span.length, NULL);
    if (!name)
        return NULL;
    Py_XDECREF(found->name);
    *found = (Name){span, name, PyDict_GetItemWithError(feed->starts, name),
                    PyDict_GetItemWithError(feed->ends, name)};
    return found;
}

/* Text, its references resolved, and without its comments. */
static PyObject *decoded(Feed *feed, Bytes from, Bytes to, int has_comments) {
    uint8_t *out = feed->text;
    if (!has_comments && !memchr(from, '&', (size_t)(to - from)))
        return PyUnicode_DecodeUTF8((const char *)from, to - from, NULL);
    while (from < to) {
        if (*from == '<') {
            from = comment_end(from);
            continue;
        }
        if (*from != '&') {
            *out++ = *from++;
            continue;
        }
        uint32_t c = reference(from, &from);
        if (c < 0x80)
            *out++ = (uint8_t)c;
        else if (c < 0x800) {
            *out++ = (uint8_t)(0xC0 | c >> 6);
            *out++ = (uint8_t)(0x80 | (c & 63));
        } else {
            if (c < 0x10000)
                *out++ = (uint8_t)(0xE0 | c >> 12);
            else {
                *out++ = (uint8_t)(0xF0 | c >> 18);
                *out++ = (uint8_t)(0x80 | (c >> 12 & 63));
            }
            *out++ = (uint8_t)(0x80 | (c >> 6 & 63));
            *out++ = (uint8_t)(0x80 | (c & 63));
        }
    }
    return PyUnicode_DecodeUTF8((const char *)feed->text, out - feed->text, NULL);
}

static PyObject *attributes(Feed *feed, Bytes at, Bytes end) {
    PyObject *made = PyDict_New();
    while (made) {
        while (is_white(*at))
            at++;
        if (at >= end)
            break;
        Span name = name_at(at);
        Bytes from = name.at + name.length + 2;
        Bytes to = memchr(from, from[-1], (size_t)(end - from));
        Name *key = named(feed, feed->keys, name);
        PyObject *value = key ? decoded(feed, from, to, 0) : NULL;
        if (!value || PyDict_SetItem(made, key->name, value) < 0)
            Py_CLEAR(made);
        Py_XDECREF(value);
        at = to + 1;
    }
    return made;
}

static int called(PyObject *result) {
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int send_text(Feed *feed, Bytes from, Bytes to, int has_comments) {
    PyObject *handler = PyList_GetItem(feed->handlers, 2);
    if (from == to || handler == Py_None)
        return handler ? 0 : -1;
    PyObject *text = handler ? decoded(feed, from, to, has_comments) : NULL;
    if (!text)
        return -1;
    Py_INCREF(handler);
    int is_empty = has_comments && !PyUnicode_GetLength(text);
    int failed = is_empty ? 0 : called(PyObject_CallFunctionObjArgs(handler, text, NULL));
    Py_DECREF(handler);
    Py_DECREF(text);
    return failed;
}

static int send_start(Feed *feed, Name *name, Bytes at, Bytes end) {
    PyObject *handler = PyList_GetItem(feed->handlers, 0);
    if (!handler || (handler == feed->usual_start && !name->start))
        return handler ? 0 : -1;
    PyObject *given = attributes(feed, at, end);
    if (!given)
        return -1;
    Py_INCREF(handler);
    int failed = called(
        handler == feed->usual_start
            ? PyObject_CallFunctionObjArgs(name->start, feed->writer, name->name, given, NULL)
            : PyObject_CallFunctionObjArgs(handler, name->name, given, NULL));
    Py_DECREF(handler);
    Py_DECREF(given);
    return failed;
}

static int send_end(Feed *feed, Name *name) {
    PyObject *handler = PyList_GetItem(feed->handlers, 1);
    if (!handler || (handler == feed->usual_end && !name->end))
        return handler ? 0 : -1;
    Py_INCREF(handler);
    int failed = called(handler == feed->usual_end
                            ? PyObject_CallFunctionObjArgs(name->end, feed->writer, name->name, NULL)
                            : PyObject_CallFunctionObjArgs(handler, name->name, NULL));
    Py_DECREF(handler);
    return failed;
}

static int send(Feed *feed, Bytes at, Bytes end) {
    while (at < end) {
        int is_end = at[1] == '/';
        Span span = name_at(at + 1 + is_end);
        Name *name = named(feed, feed->names, span);
        if (!name)
            return -1;
        Bytes behind_name = span.at + span.length;
        Bytes tag_end = behind_name;
        if (!is_end) {
            for (uint8_t quote = 0; quote || *tag_end != '>'; tag_end++)
                if (*tag_end == quote)
                    quote = 0;
                else if (!quote && (*tag_end == '"' || *tag_end == '\''))
                    quote = *tag_end;
            int is_empty = tag_end[-1] == '/';
            if (send_start(feed, name, behind_name, tag_end - is_empty) < 0 ||
                (is_empty && send_end(feed, name) < 0))
                return -1;
        } else if (send_end(feed, name) < 0)
            return -1;
        Bytes next = memchr(tag_end, '<', (size_t)(end - tag_end));
        int has_comments = 0;
        for (; next && is_comment(next); has_comments = 1) {
            next = comment_end(next);
            next = memchr(next, '<', (size_t)(end - next));
        }
        next = next ? next : end;
        if (send_text(feed, tag_end + 1, next, has_comments) < 0)
            return -1;
        at = next;
    }
    return 0;
}

/* feed(data, writer, starts, ends, handlers) -> whether the data was read */
static PyObject *feed(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *data;
    Feed given = {0};
    char *bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "SOO!O!O!", &data, &given.writer, &PyDict_Type, &given.starts,
                          &PyDict_Type, &given.ends, &PyList_Type, &given.handlers) ||
        PyBytes_AsStringAndSize(data, &bytes, &size) < 0)
        return NULL;
    if (!is_plain((Bytes)bytes, (size_t)size))
        Py_RETURN_FALSE;
    given.usual_start = PyList_GetItem(given.handlers, 0);
    given.usual_end = PyList_GetItem(given.handlers, 1);
    if (!given.usual_start || !given.usual_end)
        return NULL;
    if (!(given.text = PyMem_Malloc((size_t)size)))
        return PyErr_NoMemory();
    int failed = send(&given, (Bytes)bytes, (Bytes)bytes + size);
    for (int i = 0; i < NUM_NAMES; i++) {
        Py_XDECREF(given.names[i].name);
        Py_XDECREF(given.keys[i].name);
    }
    PyMem_Free(given.text);
    if (failed)
        return NULL;
    Py_RETURN_TRUE;
}

static PyMethodDef methods[] = {{"feed", feed, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_feed", NULL, 0, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__feed(void) { return PyModuleDef_Init(&module); }
