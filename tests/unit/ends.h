// SPDX-License-Identifier: MIT
#pragma once

/*
 * Two devices, "left" and "right", opened on the fake NIC under virtual time, with an assignment
 * for each end: what tests of verbs/ begin with. Includes cmocka's own prerequisites.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fabric.h"
#include "fake/fake-clock.h"
#include "unit/assignments.h"
#include "verbs/resources.h"

#define ENDS_MS 1000000ull
#define ENDS_SECOND (1000 * ENDS_MS)

struct end {
	struct device *device;
	struct assignment *assignment;
	struct resources *resources;
	struct endpoint_info info;
	struct steps steps;
};

struct fixture {
	struct fabric *fabric;
	struct end left;
	struct end right;
	struct error err;
};

static inline void ends_pass_time(void *arg, uint64_t ns)
{
	fake_clock_advance(ns);
}

static inline int ends_set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fake_clock_start(ENDS_SECOND);
	fixture->fabric = fabric_new(7);
	fabric_set_pass_time(fixture->fabric, ends_pass_time, NULL);
	fabric_use(fixture->fabric);
	fabric_add_device(fixture->fabric,
			  &(struct fabric_device_config){ .name = "left", .address = "10.0.0.1" });
	fabric_add_device(fixture->fabric,
			  &(struct fabric_device_config){ .name = "right", .address = "10.0.0.2" });
	assert_int_equal(device_open(&fixture->left.device, "left", NULL), 0);
	assert_int_equal(device_open(&fixture->right.device, "right", NULL), 0);
	fixture->left.assignment =
		assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 4096);
	fixture->right.assignment =
		assignments_new(ROLE_RESPONDER, PATTERN_STREAM, OPERATION_WRITE, 4096);
	*state = fixture;
	return 0;
}

static inline void ends_close(struct end *end)
{
	resources_free(end->resources, NULL);
	device_close(end->device);
	free(end->assignment);
}

static inline int ends_tear_down(void **state)
{
	struct fixture *fixture = *state;

	ends_close(&fixture->left);
	ends_close(&fixture->right);
	fabric_print_objects(fixture->fabric, stdout);
	assert_int_equal(fabric_objects(fixture->fabric), 0);
	fabric_use(NULL);
	fabric_free(fixture->fabric);
	free(fixture);
	fake_clock_stop();
	return 0;
}

static inline int ends_make(struct fixture *fixture, struct end *end)
{
	int ret;

	fixture->err = ERROR_INIT;
	ret = resources_new(&end->resources, end->device, end->assignment, &end->steps,
			    &fixture->err);
	if (ret == 0) {
		assert_false(error_is_set(&fixture->err));
		resources_info(end->resources, end->assignment, &end->info);
	} else {
		assert_true(error_is_set(&fixture->err));
		assert_int_not_equal(fixture->err.stage, STAGE_NONE);
		assert_null(end->resources);
		/* Only the two contexts are left. */
		assert_int_equal(fabric_objects(fixture->fabric), 2);
	}
	return ret;
}

static inline int ends_connect(struct fixture *fixture)
{
	int ret;

	fixture->err = ERROR_INIT;
	ret = resources_connect(fixture->left.resources, fixture->left.assignment,
				&fixture->right.info, &fixture->left.steps, &fixture->err);
	return ret < 0 ? ret
		       : resources_connect(fixture->right.resources, fixture->right.assignment,
					   &fixture->left.info, &fixture->right.steps,
					   &fixture->err);
}

static inline const struct step *ends_step(const struct steps *steps, const char *name)
{
	for (size_t i = 0; i < steps->count; i++) {
		if (strcmp(steps->items[i].name, name) == 0) {
			return &steps->items[i];
		}
	}
	return NULL;
}

static inline void ends_assert_says(const struct error *err, const char *words)
{
	if (!strstr(err->text, words)) {
		fail_msg("\"%s\" is not in: %s", words, err->text);
	}
}
