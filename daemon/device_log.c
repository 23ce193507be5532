// SPDX-License-Identifier: MIT
#include "device_log.h"

#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/units.h"

struct device_log {
	char told[sizeof(((struct error *)0)->text)]; /* empty: all was well */
};

struct device_log *device_log_new(void)
{
	return memory_new(sizeof(struct device_log));
}

void device_log_free(struct device_log *log)
{
	free(log);
}

void device_log_tell(struct device_log *log, const struct error *error)
{
	const char *text = error_is_set(error) ? error->text : "";

	if (strcmp(log->told, text) == 0) {
		return;
	}
	text_copy(log->told, sizeof(log->told), text);
	if (text[0] == '\0') {
		log_info("all RDMA devices are there and can be asked again");
	} else {
		log_warning("looking for RDMA devices: %s", text);
	}
}

void device_log_health(const struct hang *hang, bool is_sick, uint64_t now_mono_ns)
{
	struct error err = ERROR_INIT;
	char duration[UNITS_SIZE];

	if (is_sick) {
		hang_refuse(hang, now_mono_ns, &err);
		log_error("%s", err.text);
		return;
	}
	log_info("RDMA device \"%s\" is well again: %s returned after %s", hang->device, hang->call,
		 units_format_duration(now_mono_ns - hang->since_mono_ns, duration));
}
