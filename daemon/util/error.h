// SPDX-License-Identifier: MIT
#pragma once

/*
 * What went wrong, once, in words a person can act on.
 *
 * Who detects an error writes the sentence, with the input, the limit and the cure; callers may
 * prefix it, never rephrase it. The class decides the verdict, never the text. Plain data, no
 * ownership; any thread, one owner each.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose doing it was. */
enum error_class {
	ERROR_NONE,
	ERROR_INPUT, /* a file, an argument, a request */
	ERROR_RESOURCE, /* memory, memlock, descriptors, a limit of this host or configuration */
	ERROR_PEER, /* the other daemon, or the session to it */
	ERROR_DEVICE, /* the RDMA device, its port or the fabric behind it */
	ERROR_BUG, /* ours */
};

/* In which stage of a run it happened. */
enum error_stage {
	STAGE_NONE,
	STAGE_INPUT,
	STAGE_CONFIG,
	STAGE_DISCOVER,
	STAGE_RESOURCE,
	STAGE_RESOLVE,
	STAGE_CONNECT,
	STAGE_MODIFY_QP,
	STAGE_RUN,
	STAGE_TEARDOWN,
	STAGE_REPORT,
};

/* What `number` is. */
enum error_kind {
	ERROR_KIND_NONE,
	ERROR_KIND_ERRNO, /* positive errno */
	ERROR_KIND_WC_STATUS, /* enum ibv_wc_status */
	ERROR_KIND_CM_REJECT, /* reason of a connection manager (model/reject) */
};

struct error {
	enum error_class class;
	enum error_stage stage;
	enum error_kind kind;
	int number;
	char call[40]; /* the function or verb that failed, "ibv_reg_mr"; empty if none */
	char text[512]; /* one sentence, no trailing full stop or newline */
};

#define ERROR_INIT ((struct error){ 0 })

/*
 * Fills *err (if not NULL and still empty: the first error stays) and returns `ret`, a negative
 * errno, so that `return error_set(err, -EINVAL, ERROR_INPUT, "...")` reads as one step. Stage is
 * left as it is.
 */
int error_set(struct error *err, int ret, enum error_class class, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * As error_set, for a failed call: records its name and errno, appends ": strerror" (and for EMFILE
 * the limit and what raises it). Returns
 * -number.
 */
int error_set_call(struct error *err, int number, enum error_class class, enum error_stage stage,
		   const char *call, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Puts "prefix: " before the text; cuts at the end if it must, never loses the prefix. */
void error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What error_set wrote has this errno (of either sign): for those who act on it, not on the text.
 */
void error_number(struct error *err, int number);

static inline bool error_is_set(const struct error *err)
{
	return err->class != ERROR_NONE;
}

/*
 * Stable lower-case words used in JSON and metrics ("resource", "modify_qp", "errno"); never NULL.
 */
const char *error_class_name(enum error_class class);
const char *error_stage_name(enum error_stage stage);
const char *error_kind_name(enum error_kind kind);
