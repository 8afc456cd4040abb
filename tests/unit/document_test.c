// SPDX-License-Identifier: Apache-2.0
// Small JSON documents: 64-bit integers in full, as numbers and as strings; what is refused, and how it is said.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decode/document.h"
#include "tests/unit/check.h"

static void value_is(const char *json, uint64_t max, int wanted_result, uint64_t wanted) {
    cJSON *d;
    iket_error err = {""};
    uint64_t value = 77;
    int result = iket_document_parse(&d, json, strlen(json), "test", &err);
    CHECK(result == 0, "%s: %s", json, err.message);
    result = iket_document_u64(d, "k", max, &value, "test", &err);
    CHECK(result == wanted_result, "%s: %s", json, err.message);
    if (wanted_result == 0) CHECK(value == wanted, "%s: %" PRIu64, json, value);
    cJSON_Delete(d);
}

static void refused(const char *json, size_t size, const char *message) {
    cJSON *d;
    iket_error err = {""};
    CHECK(iket_document_parse(&d, json, size, "f.json", &err) != 0 && d == NULL, "%s", json);
    CHECK(strstr(err.message, message) != NULL, "%s", err.message);
}

static void object_is(const char *json, size_t size, const char *wanted) {
    char *text = iket_document_object_text(json, size);
    CHECK((text == NULL) == (wanted == NULL), "%s", json);
    if (text != NULL && wanted != NULL) CHECK(strcmp(text, wanted) == 0, "%s: %s", json, text);
    free(text);
}
#define OBJECT_IS(json, wanted) object_is((json), sizeof(json) - 1, (wanted))

int main(void) {
    OBJECT_IS(" { \"a\" : [ 1 , -0.50e+3 , 18446744073709551615 , \"b c\\\"d\\n\" , true ] } \n", "{\"a\":[1,-0.50e+3,18446744073709551615,\"b c\\\"d\\n\",true]}");
    OBJECT_IS("{}", "{}");
    OBJECT_IS("[]", NULL);
    OBJECT_IS("{\"a\":\"x\0y\"}", NULL); // what cJSON reads all the same
    OBJECT_IS("{\"a\":\"x\033[1my\"}", NULL);
    OBJECT_IS("{\"a\":\"x\xff\"}", NULL);
    OBJECT_IS("{\"a\":01}", NULL);
    OBJECT_IS("{\"a\":1.}", NULL);
    OBJECT_IS("{\"a\":-.5}", NULL);
    OBJECT_IS("{\"a\":1e}", NULL);
    value_is("{\"k\":5}", UINT64_MAX, 0, 5);
    value_is("{\"k\":18446744073709551615}", UINT64_MAX, 0, UINT64_MAX);
    value_is("{\"k\":9007199254740993}", UINT64_MAX, 0, 9007199254740993u); // a double would make 9007199254740992 of it
    value_is("{\"k\":\"0x7F0000001000\"}", UINT64_MAX, 0, 0x7F0000001000u);
    value_is("{\"k\":\"0xffffffffffffffff\"}", UINT64_MAX, 0, UINT64_MAX);
    value_is("{\"a\":\"1234567890123456789\",\"k\":1}", UINT64_MAX, 0, 1); // digits in a string stay a string
    value_is("{\"other\":1}", UINT64_MAX, 0, 77);
    value_is("{\"k\":-1}", UINT32_MAX, 0, UINT32_MAX); // a color
    value_is("{\"k\":-1}", UINT64_MAX, -1, 0);
    value_is("{\"k\":1.5}", UINT64_MAX, -1, 0);
    value_is("{\"k\":256}", 255, -1, 0);
    value_is("{\"k\":18446744073709551616}", UINT64_MAX, -1, 0);
    value_is("{\"k\":\"0x\"}", UINT64_MAX, -1, 0);
    value_is("{\"k\":\"12z\"}", UINT64_MAX, -1, 0);
    value_is("{\"k\":[]}", UINT64_MAX, -1, 0);
    refused("{\"k\":", 5, "f.json: byte 0x");
    refused("{} x", 4, "byte 0x3: something follows");
    refused("", 0, "is not JSON");
    refused("{\"k\":\"", 6, "is not JSON");
    return check_failures();
}
