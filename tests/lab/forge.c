// SPDX-License-Identifier: MIT

/*
 * A peer that lies to connection managers, for the lab: preloaded before librdmacm, it changes a
 * byte of the token in the private data of rdma_connect while a file $FORGE_DIR/forge.DEVICE
 * exists, and swallows the call while $FORGE_DIR/swallow.DEVICE does. All else is the library's.
 */

#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_AT 4 /* behind the magic word */

static bool is_asked(const char *what, const char *device)
{
	const char *directory = getenv("FORGE_DIR");
	char path[512];

	if (!directory) {
		return false;
	}
	snprintf(path, sizeof(path), "%s/%s.%s", directory, what, device);
	return access(path, F_OK) == 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*call)(struct rdma_cm_id *, struct rdma_conn_param *) =
		dlsym(RTLD_NEXT, "rdma_connect");
	const char *device = ibv_get_device_name(id->verbs->device);
	struct rdma_conn_param forged = *param;
	unsigned char data[256];

	if (!call) {
		fprintf(stderr, "forge: no rdma_connect behind this library\n");
		abort();
	}
	if (is_asked("swallow", device)) {
		return 0;
	}
	if (is_asked("forge", device) && param->private_data_len > TOKEN_AT) {
		memcpy(data, param->private_data, param->private_data_len);
		data[TOKEN_AT] ^= 0xff;
		forged.private_data = data;
	}
	return call(id, &forged);
}
