/* JSON lines to a block of texts, sixty-four bytes at a time.

   scan_lines() reads lines of the form {"text": "...", "meta": {...}} (either order, any JSON white
   space, meta optional) and unescapes the texts in place: they end up one after another at the front
   of the buffer that the frame was decompressed into. Whatever it does not know (another key, a
   number where a string should be, invalid UTF-8, half a surrogate pair) makes it give up, and the
   caller reads the frame again by the general path, which also finds the words for what is wrong. So
   this file decides nothing: it is either right or silent.

   Texts are checked to be UTF-8 here. Each meta object is only delimited, by counting brackets
   outside strings; the objects are laid out as one JSON array, which the caller parses once to
   validate them all. (Balanced segments between commas parse as an array exactly if each parses.)

   Why it is safe to write where we read: the frame begins GAP bytes into the buffer, and output
   never catches up with input, so a store of WIDTH bytes stays clear of bytes that are yet to be read. Why
   no loop needs a bound of its own: the frame is followed by SLACK zero bytes, zero is a control
   character, and every loop stops at one; no step looks further than SLACK bytes ahead. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define WIDTH 64
#define GAP WIDTH
#define SLACK WIDTH
#define MAX_DEPTH 200

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Special bytes: a quote, a backslash, a control character, or not ASCII. */

#if defined(__SSE2__)
typedef __m128i Lane;
static inline Lane load16(const uint8_t *from) { return _mm_loadu_si128((const __m128i *)from); }
static inline void store16(uint8_t *to, Lane v) { _mm_storeu_si128((__m128i *)to, v); }
static inline uint64_t special16(Lane v) {
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    /* Signed: bytes from 0x80 up are negative, so one comparison finds them and the controls. */
    __m128i outside = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), outside));
}
#elif defined(__aarch64__)
typedef uint8x16_t Lane;
static inline Lane load16(const uint8_t *from) { return vld1q_u8(from); }
static inline void store16(uint8_t *to, Lane v) { vst1q_u8(to, v); }
static inline uint64_t special16(Lane v) {
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t quote = vceqq_u8(v, vdupq_n_u8('"'));
    uint8x16_t backslash = vceqq_u8(v, vdupq_n_u8('\\'));
    uint8x16_t outside = vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8(0x20));
    uint8x16_t bits = vandq_u8(vorrq_u8(vorrq_u8(quote, backslash), outside), vld1q_u8(weights));
    return (uint64_t)vaddv_u8(vget_low_u8(bits)) | (uint64_t)vaddv_u8(vget_high_u8(bits)) << 8;
}
#else
typedef struct {
    uint8_t bytes[16];
} Lane;
static inline Lane load16(const uint8_t *from) {
    Lane v;
    memcpy(v.bytes, from, 16);
    return v;
}
static inline void store16(uint8_t *to, Lane v) { memcpy(to, v.bytes, 16); }
static inline uint64_t special16(Lane v) {
    uint64_t mask = 0;
    for (int i = 0; i < 16; i++) {
        uint8_t c = v.bytes[i];
        mask |= (uint64_t)(c == '"' || c == '\\' || c < 0x20 || c >= 0x80) << i;
    }
    return mask;
}
#endif

/* The mask of special bytes among the WIDTH at `from`. */
static inline uint64_t look(const uint8_t *from) {
    return special16(load16(from)) | special16(load16(from + 16)) << 16 |
           special16(load16(from + 32)) << 32 | special16(load16(from + 48)) << 48;
}

/* Copies WIDTH bytes; the places may overlap. */
static inline void copy(const uint8_t *from, uint8_t *to) {
    Lane a = load16(from), b = load16(from + 16), c = load16(from + 32), d = load16(from + 48);
    store16(to, a);
    store16(to + 16, b);
    store16(to + 32, c);
    store16(to + 48, d);
}

static inline int first_bit(uint64_t mask) { return __builtin_ctzll(mask); }

static inline int is_continuation(uint8_t c) { return (c & 0xC0) == 0x80; }

/* Length of the well-formed UTF-8 sequence at a byte that is not ASCII, or 0 (Unicode, table 3-7). */
static inline int sequence_length(const uint8_t *at) {
    uint8_t lead = at[0], second = at[1];
    if (lead >= 0xC2 && lead <= 0xDF) return is_continuation(second) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        uint8_t low = lead == 0xE0 ? 0xA0 : 0x80, high = lead == 0xED ? 0x9F : 0xBF;
        return second >= low && second <= high && is_continuation(at[2]) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        uint8_t low = lead == 0xF0 ? 0x90 : 0x80, high = lead == 0xF4 ? 0x8F : 0xBF;
        return second >= low && second <= high && is_continuation(at[2]) && is_continuation(at[3])
                   ? 4
                   : 0;
    }
    return 0;
}

/* Four hexadecimal digits, or -1. */
static int32_t hex4(const uint8_t *at) {
    int32_t value = 0;
    for (int k = 0; k < 4; k++) {
        uint8_t c = at[k];
        int digit;
        if (c >= '0' && c <= '9') digit = c - '0';
        else if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
        else return -1;
        value = value * 16 + digit;
    }
    return value;
}

static uint8_t *put_code_point(uint8_t *out, uint32_t code) {
    if (code < 0x80) {
        *out++ = (uint8_t)code;
    } else if (code < 0x800) {
        *out++ = (uint8_t)(0xC0 | code >> 6);
        *out++ = (uint8_t)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = (uint8_t)(0xE0 | code >> 12);
        *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        *out++ = (uint8_t)(0x80 | (code & 0x3F));
    } else {
        *out++ = (uint8_t)(0xF0 | code >> 18);
        *out++ = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        *out++ = (uint8_t)(0x80 | (code & 0x3F));
    }
    return out;
}

/* What a backslash and this letter stand for; 0 where the pair is not a simple escape. */
static const uint8_t SIMPLE_ESCAPE[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

/* Unescape the string whose opening quote is just before `at`. Returns the place after its closing
   quote, or NULL, and moves `*output` on. The special bytes of a window are found at once, and the
   runs between them copied a whole window at a time: what is copied too much is written over. */
static const uint8_t *unescape_string(const uint8_t *at, uint8_t **output) {
    uint8_t *out = *output;
    for (;;) {
        const uint8_t *window = at;
        uint64_t mask = look(window);
        while (mask) {
            const uint8_t *special = window + first_bit(mask);
            copy(at, out);
            out += special - at;
            at = special;
            uint8_t c = *at, plain;
            if (c == '\\' && (plain = SIMPLE_ESCAPE[at[1]])) {
                *out++ = plain;
                at += 2;
            } else if (c == '"') {
                *output = out;
                return at + 1;
            } else if (c == '\\') {
                if (at[1] != 'u') return NULL;
                int32_t code = hex4(at + 2);
                if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF)) return NULL;
                at += 6;
                if (code >= 0xD800 && code <= 0xDBFF) {
                    if (at[0] != '\\' || at[1] != 'u') return NULL;
                    int32_t low = hex4(at + 2);
                    if (low < 0xDC00 || low > 0xDFFF) return NULL;
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                    at += 6;
                }
                out = put_code_point(out, (uint32_t)code);
            } else if (c < 0x20) {
                return NULL;
            } else {
                do {
                    int length = sequence_length(at);
                    if (!length) return NULL;
                    memmove(out, at, 4);
                    at += length;
                    out += length;
                } while (*at >= 0x80);
            }
            int64_t done = at - window;
            mask = done < WIDTH ? mask >> done << done : 0;
        }
        if (at < window + WIDTH) {
            copy(at, out);
            out += window + WIDTH - at;
            at = window + WIDTH;
        }
    }
}

/* The place after the bracket that closes the object opened at `at`, or NULL. */
static const uint8_t *end_of_object(const uint8_t *at) {
    int depth = 0;
    for (;;) {
        uint8_t c = *at++;
        if (c == '{' || c == '[') {
            if (++depth > MAX_DEPTH) return NULL;
        } else if (c == '}' || c == ']') {
            if (--depth == 0) return at;
        } else if (c == '"') {
            for (;;) {
                uint64_t mask = look(at);
                if (!mask) {
                    at += WIDTH;
                    continue;
                }
                at += first_bit(mask);
                c = *at++;
                if (c == '"') break;
                if (c == '\\') {
                    if (*at++ < 0x20) return NULL;
                } else if (c < 0x20) {
                    return NULL;
                }
            }
        } else if (c < 0x20 && c != '\t' && c != '\r') {
            return NULL;
        }
    }
}

static inline const uint8_t *skip_spaces(const uint8_t *at) {
    while (*at == ' ' || *at == '\t' || *at == '\r') at++;
    return at;
}

typedef struct {
    const uint8_t *bytes; /* with the closing quote, without the opening one */
    Py_ssize_t size;
} Key;

/* If the key stands at `at` and a colon follows, the place of its value; else NULL. The caller has
   made sure that keys are shorter than SLACK. */
static inline const uint8_t *value_of(const uint8_t *at, Key key) {
    for (Py_ssize_t k = 0; k < key.size; k++)
        if (at[k] != key.bytes[k]) return NULL;
    at = skip_spaces(at + key.size);
    return *at == ':' ? skip_spaces(at + 1) : NULL;
}

/* Returns the number of documents, or -1 to give up. `offsets` and `meta_offsets` have room for
   `room` documents and one more. */
static int64_t scan_lines(uint8_t *buffer, Py_ssize_t end, Key text_key, Key meta_key,
                          int64_t *offsets, uint8_t *meta, int64_t *meta_offsets, int64_t room) {
    const uint8_t *at = buffer + GAP, *stop = buffer + end;
    uint8_t *out = buffer, *meta_out = meta;
    int64_t n = 0;
    *meta_out++ = '[';
    offsets[0] = 0;
    meta_offsets[0] = 1;
    for (;;) {
        while (at < stop && (*at == '\n' || *at == ' ' || *at == '\t' || *at == '\r')) at++;
        if (at >= stop) break;
        if (*at++ != '{' || n == room) return -1;
        int has_text = 0, has_meta = 0;
        for (;;) {
            const uint8_t *value;
            at = skip_spaces(at);
            if (*at++ != '"') return -1;
            if (!has_text && (value = value_of(at, text_key))) {
                if (*value != '"') return -1;
                at = unescape_string(value + 1, &out);
                if (!at) return -1;
                has_text = 1;
            } else if (!has_meta && (value = value_of(at, meta_key))) {
                if (*value != '{') return -1;
                at = end_of_object(value);
                if (!at) return -1;
                memcpy(meta_out, value, (size_t)(at - value));
                meta_out += at - value;
                has_meta = 1;
            } else {
                return -1;
            }
            at = skip_spaces(at);
            uint8_t c = *at++;
            if (c == ',') continue;
            if (c == '}') break;
            return -1;
        }
        at = skip_spaces(at);
        if (!has_text || at > stop || (at < stop && *at != '\n')) return -1;
        if (!has_meta) {
            *meta_out++ = '{';
            *meta_out++ = '}';
        }
        *meta_out++ = ',';
        n++;
        offsets[n] = out - buffer;
        meta_offsets[n] = meta_out - meta;
    }
    if (n) meta_out[-1] = ']';
    else *meta_out = ']';
    return n;
}

static PyObject *py_scan_lines(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer buffer, text_key, meta_key, offsets, meta, meta_offsets;
    Py_ssize_t end;
    if (!PyArg_ParseTuple(args, "w*ny*y*w*w*w*", &buffer, &end, &text_key, &meta_key, &offsets,
                          &meta, &meta_offsets))
        return NULL;
    int64_t room = (int64_t)(offsets.len / 8) - 1;
    PyObject *result = NULL;
    if (end < GAP || end + SLACK > buffer.len || text_key.len >= SLACK / 2 ||
        meta_key.len >= SLACK / 2 || room < 0 || meta_offsets.len < offsets.len ||
        meta.len < end - GAP + SLACK) {
        PyErr_SetString(PyExc_ValueError, "scan_lines: a buffer is too small");
    } else {
        int64_t n;
        Py_BEGIN_ALLOW_THREADS
        memset((uint8_t *)buffer.buf + end, 0, SLACK);
        n = scan_lines(buffer.buf, end, (Key){text_key.buf, text_key.len},
                       (Key){meta_key.buf, meta_key.len}, offsets.buf, meta.buf, meta_offsets.buf,
                       room);
        Py_END_ALLOW_THREADS
        result = PyLong_FromLongLong(n);
    }
    PyBuffer_Release(&buffer);
    PyBuffer_Release(&text_key);
    PyBuffer_Release(&meta_key);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&meta);
    PyBuffer_Release(&meta_offsets);
    return result;
}

static PyObject *py_texts(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer buffer, offsets;
    if (!PyArg_ParseTuple(args, "y*y*", &buffer, &offsets)) return NULL;
    const int64_t *ends = offsets.buf;
    Py_ssize_t n = offsets.len / 8 - 1;
    PyObject *list = n >= 0 ? PyList_New(n) : NULL;
    if (n < 0) PyErr_SetString(PyExc_ValueError, "texts: offsets are one more than texts");
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *text = NULL;
        if (ends[i] < 0 || ends[i] > ends[i + 1] || ends[i + 1] > buffer.len)
            PyErr_SetString(PyExc_ValueError, "texts: an offset is outside the buffer");
        else
            text = PyUnicode_DecodeUTF8((const char *)buffer.buf + ends[i], ends[i + 1] - ends[i],
                                        NULL);
        if (!text || PyList_SetItem(list, i, text) < 0) Py_CLEAR(list);
    }
    PyBuffer_Release(&buffer);
    PyBuffer_Release(&offsets);
    return list;
}

static PyMethodDef methods[] = {
    {"scan_lines", py_scan_lines, METH_VARARGS,
     "scan_lines(buffer, end, text_key, meta_key, offsets, meta, meta_offsets) -> int\n\n"
     "Scan the lines at buffer[GAP:end]; return the number of documents, or -1 to give up.\n"
     "Keys come with the closing quote and without the opening one. Text i is then\n"
     "buffer[offsets[i]:offsets[i + 1]]; meta[:meta_offsets[n]] is a JSON array whose object i is\n"
     "meta[meta_offsets[i]:meta_offsets[i + 1] - 1]."},
    {"texts", py_texts, METH_VARARGS,
     "texts(buffer, offsets) -> list[str]\n\nThe UTF-8 texts between the offsets."},
    {NULL, NULL, 0, NULL},
};

static int add_constants(PyObject *module) {
    if (PyModule_AddIntConstant(module, "GAP", GAP) < 0) return -1;
    if (PyModule_AddIntConstant(module, "MAX_DEPTH", MAX_DEPTH) < 0) return -1;
    return PyModule_AddIntConstant(module, "SLACK", SLACK);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, add_constants}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_scan", "JSON lines to a block of texts.", 0, methods, slots,
    NULL,                  NULL,    NULL,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }
