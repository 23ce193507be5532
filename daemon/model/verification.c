// SPDX-License-Identifier: MIT
#include "model/verification.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model/operation.h"

static const struct number {
	const char *key;
	size_t offset;
} numbers[] = {
	{ "sent", offsetof(struct verification, sent) },
	{ "received", offsetof(struct verification, received) },
	{ "verified", offsetof(struct verification, verified) },
	{ "corrupted", offsetof(struct verification, corrupted) },
	{ "lost", offsetof(struct verification, lost) },
	{ "duplicated", offsetof(struct verification, duplicated) },
	{ "reordered", offsetof(struct verification, reordered) },
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

uint64_t verification_errors(const struct verification *verification)
{
	return verification->corrupted + verification->lost + verification->duplicated +
	       verification->reordered;
}

void verification_hex(const uint8_t *bytes, uint64_t length, char text[VERIFICATION_HEX_SIZE])
{
	text[0] = '\0';
	for (uint64_t i = 0; i < length && i < VERIFICATION_SHOWN_BYTES; i++) {
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	}
}

static json_t *write_fault(const struct verification_fault *fault)
{
	char expected[VERIFICATION_HEX_SIZE], found[VERIFICATION_HEX_SIZE];
	json_t *object;

	if (!fault->is_set) {
		return NULL;
	}
	object = json_object();
	verification_hex(fault->expected, fault->length, expected);
	verification_hex(fault->found, fault->length, found);
	json_set_string(object, "op", operation_names[fault->operation]);
	json_set_u64(object, "qp_num", fault->qp_num);
	json_set_u64(object, "number", fault->number);
	json_set_u64(object, "offset_bytes", fault->offset_bytes);
	json_set_string(object, "expected", expected);
	json_set_string(object, "found", found);
	return object;
}

json_t *verification_write(const struct verification *verification)
{
	json_t *object = json_object();

	for (size_t i = 0; i < NUMBERS; i++) {
		json_set_u64(object, numbers[i].key,
			     *(const uint64_t *)((const char *)verification + numbers[i].offset));
	}
	json_set_take(object, "first_corrupted", write_fault(&verification->first));
	return object;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_hex(const json_t *json, const char *key, uint8_t *ret, uint64_t *ret_length,
		    struct error *err)
{
	char text[VERIFICATION_HEX_SIZE];
	int r = json_get_string(json, key, text, sizeof(text), err);
	size_t length = r < 0 ? 0 : strlen(text);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < length; i++) {
		if (length % 2 != 0 || hex_digit(text[i]) < 0) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "\"%s\" must be bytes in hexadecimal", key);
		}
		ret[i / 2] = (uint8_t)(ret[i / 2] << 4 | hex_digit(text[i]));
	}
	*ret_length = length / 2;
	return 0;
}

static int read_fault(const json_t *json, struct verification_fault *ret, struct error *err)
{
	uint64_t expected, found;
	char word[32];
	int r;

	if (!json || json_is_null(json)) {
		return 0;
	}
	if ((r = json_get_string(json, "op", word, sizeof(word), err)) < 0 ||
	    (r = json_get_u64(json, "qp_num", 0, 0xffffff, &ret->qp_num, err)) < 0 ||
	    (r = json_get_u64(json, "number", 0, INT64_MAX, &ret->number, err)) < 0 ||
	    (r = json_get_u64(json, "offset_bytes", 0, LIMIT_BUFFER_BYTES, &ret->offset_bytes,
			      err)) < 0 ||
	    (r = read_hex(json, "expected", ret->expected, &expected, err)) < 0 ||
	    (r = read_hex(json, "found", ret->found, &found, err)) < 0) {
		return r;
	}
	while (ret->operation < OPERATION_KINDS &&
	       strcmp(operation_names[ret->operation], word) != 0) {
		ret->operation++;
	}
	if (ret->operation == OPERATION_KINDS || expected != found) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "must name an operation, and as many bytes expected as found");
	}
	ret->length = found;
	ret->is_set = true;
	return 0;
}

int verification_read(const json_t *json, struct verification *ret, struct error *err)
{
	int r = 0;

	*ret = (struct verification){ 0 };
	for (size_t i = 0; i < NUMBERS && r == 0; i++) {
		r = json_get_u64(json, numbers[i].key, 0, INT64_MAX / 16,
				 (uint64_t *)((char *)ret + numbers[i].offset), err);
	}
	if (r < 0) {
		return r;
	}
	r = read_fault(json_object_get(json, "first_corrupted"), &ret->first, err);
	if (r < 0) {
		error_prefix(err, "first_corrupted");
	}
	return r;
}
