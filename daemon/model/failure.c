// SPDX-License-Identifier: MIT
#include "model/failure.h"

#include <errno.h>
#include <string.h>

#include "model/operation.h"
#include "model/reject.h"

/* enum ibv_wc_status, IBTA vol. 1, 11.6.2; numbers as in libibverbs. */
static const char *const wc_status_names[] = {
	"IBV_WC_SUCCESS",
	"IBV_WC_LOC_LEN_ERR",
	"IBV_WC_LOC_QP_OP_ERR",
	"IBV_WC_LOC_EEC_OP_ERR",
	"IBV_WC_LOC_PROT_ERR",
	"IBV_WC_WR_FLUSH_ERR",
	"IBV_WC_MW_BIND_ERR",
	"IBV_WC_BAD_RESP_ERR",
	"IBV_WC_LOC_ACCESS_ERR",
	"IBV_WC_REM_INV_REQ_ERR",
	"IBV_WC_REM_ACCESS_ERR",
	"IBV_WC_REM_OP_ERR",
	"IBV_WC_RETRY_EXC_ERR",
	"IBV_WC_RNR_RETRY_EXC_ERR",
	"IBV_WC_LOC_RDD_VIOL_ERR",
	"IBV_WC_REM_INV_RD_REQ_ERR",
	"IBV_WC_REM_ABORT_ERR",
	"IBV_WC_INV_EECN_ERR",
	"IBV_WC_INV_EEC_STATE_ERR",
	"IBV_WC_FATAL_ERR",
	"IBV_WC_RESP_TIMEOUT_ERR",
	"IBV_WC_GENERAL_ERR",
	"IBV_WC_TM_ERR",
	"IBV_WC_TM_RNDV_INCOMPLETE",
};

const char *failure_wc_status_name(int status)
{
	if (status < 0 || (size_t)status >= sizeof(wc_status_names) / sizeof(wc_status_names[0])) {
		return "unknown";
	}
	return wc_status_names[status];
}

/* Of numbers that are no errno: what the specification calls them. */
static const char *status_name(const struct error *error)
{
	switch (error->kind) {
	case ERROR_KIND_WC_STATUS:
		return failure_wc_status_name(error->number);
	case ERROR_KIND_CM_REJECT:
		return reject_name(error->number);
	default:
		return NULL;
	}
}

json_t *failure_write(const struct failure *failure)
{
	const struct error *error = &failure->error;
	json_t *object;

	if (!error_is_set(error)) {
		return json_null();
	}
	object = json_object();
	json_set_string(object, "class", error_class_name(error->class));
	json_set_string(object, "stage", error_stage_name(error->stage));
	json_set_string(object, "kind", error_kind_name(error->kind));
	json_set_i64(object, "number", error->number);
	json_set_string(object, "status_name", status_name(error));
	json_set_string(object, "call", error->call[0] ? error->call : NULL);
	json_set_string(object, "text", error->text);
	json_set_string(object, "node", failure->node[0] ? failure->node : NULL);
	json_set_string(object, "device", failure->device[0] ? failure->device : NULL);
	json_set_u64(object, "qp_num", failure->qp_num);
	json_set_u64(object, "vendor_err", failure->vendor_err);
	json_set_string(object, "op",
			failure->operation >= 0 && failure->operation < OPERATION_KINDS
				? operation_names[failure->operation]
				: NULL);
	json_set_u64(object, "size_bytes", failure->size_bytes);
	json_set_u64(object, "completed_bytes", failure->completed_bytes);
	json_set_u64(object, "at_ns", failure->at_ns);
	json_set_u64(object, "flushed", failure->flushed);
	return object;
}

typedef const char *(*word_fn)(int value);

static const char *class_word(int value)
{
	return error_class_name((enum error_class)value);
}

static const char *stage_word(int value)
{
	return error_stage_name((enum error_stage)value);
}

static const char *kind_word(int value)
{
	return error_kind_name((enum error_kind)value);
}

static const char *operation_word(int value)
{
	return operation_names[value];
}

/* Which of the words 0..last the member is; `absent` when it is null or not there. */
static int read_word(const json_t *json, const char *key, word_fn word, int last, int absent,
		     int *ret, struct error *err)
{
	char given[40] = "";
	int r = json_get_string_or(json, key, given, sizeof(given), err);

	if (r < 0) {
		return r;
	}
	if (!given[0]) {
		*ret = absent;
		return 0;
	}
	for (int value = 0; value <= last; value++) {
		if (!strcmp(word(value), given)) {
			*ret = value;
			return 0;
		}
	}
	return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": \"%s\" is not one of its words", key,
			 given);
}

static int read_error(const json_t *json, struct error *ret, struct error *err)
{
	int class = ERROR_NONE;
	int stage = STAGE_NONE;
	int kind = ERROR_KIND_NONE;
	int64_t number = 0;
	int r;

	if ((r = read_word(json, "class", class_word, ERROR_BUG, ERROR_NONE, &class, err)) < 0 ||
	    (r = read_word(json, "stage", stage_word, STAGE_REPORT, STAGE_NONE, &stage, err)) < 0 ||
	    (r = read_word(json, "kind", kind_word, ERROR_KIND_CM_REJECT, ERROR_KIND_NONE, &kind,
			   err)) < 0 ||
	    (r = json_get_i64(json, "number", &number, err)) < 0 ||
	    (r = json_get_string_or(json, "call", ret->call, sizeof(ret->call), err)) < 0 ||
	    (r = json_get_string(json, "text", ret->text, sizeof(ret->text), err)) < 0) {
		return r;
	}
	if (class == ERROR_NONE) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"\"class\": an error must have one (input, resource, peer, device or bug)");
	}
	if (number < INT32_MIN || number > INT32_MAX) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"number\": %lld does not fit 32 bits",
				 (long long)number);
	}
	ret->class = (enum error_class) class;
	ret->stage = (enum error_stage)stage;
	ret->kind = (enum error_kind)kind;
	ret->number = (int)number;
	return 0;
}

/* null, or no such member: not known. */
static int read_known(const json_t *json, const char *key, uint64_t *ret, struct error *err)
{
	if (json_is_null(json_object_get(json, key)) || !json_object_get(json, key)) {
		*ret = FAILURE_UNKNOWN;
		return 0;
	}
	return json_get_u64(json, key, 0, UINT32_MAX, ret, err);
}

int failure_read(const json_t *json, struct failure *ret, struct error *err)
{
	struct failure failure = FAILURE_INIT;
	int r;

	if (json_is_null(json)) {
		*ret = failure;
		return 0;
	}
	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a failure must be an object or null");
	}
	if ((r = read_error(json, &failure.error, err)) < 0 ||
	    (r = json_get_string_or(json, "node", failure.node, sizeof(failure.node), err)) < 0 ||
	    (r = json_get_string_or(json, "device", failure.device, sizeof(failure.device), err)) <
		    0 ||
	    (r = json_get_u64_or(json, "qp_num", 0, UINT32_MAX, &failure.qp_num, err)) < 0 ||
	    (r = json_get_u64_or(json, "vendor_err", 0, UINT32_MAX, &failure.vendor_err, err)) <
		    0 ||
	    (r = read_word(json, "op", operation_word, OPERATION_KINDS - 1, -1, &failure.operation,
			   err)) < 0 ||
	    (r = read_known(json, "size_bytes", &failure.size_bytes, err)) < 0 ||
	    (r = read_known(json, "completed_bytes", &failure.completed_bytes, err)) < 0 ||
	    (r = json_get_u64_or(json, "at_ns", 0, INT64_MAX, &failure.at_ns, err)) < 0 ||
	    (r = json_get_u64_or(json, "flushed", 0, INT64_MAX, &failure.flushed, err)) < 0) {
		return r;
	}
	*ret = failure;
	return 0;
}
