// SPDX-License-Identifier: MIT
#include "verbs/pkey.h"

#include <endian.h>
#include <errno.h>

#include "util/text.h"
#include "verbs/call.h"

#define SHOWN 8

bool pkey_reaches(uint16_t a, uint16_t b)
{
	return a == 0 || b == 0 || (((a ^ b) & PKEY_PARTITION) == 0 && ((a | b) & PKEY_FULL));
}

/* 0: empty, or it cannot be read. */
static uint16_t read_pkey(const struct device *device, uint64_t port_num, uint64_t index)
{
	__be16 pkey = 0;
	uint64_t started_mono_ns = call_begin("ibv_query_pkey");
	int ret = ibv_query_pkey(device->context, (uint8_t)port_num, (int)index, &pkey);

	call_end(NULL, NULL, started_mono_ns, 0);
	return ret == 0 && be16toh(pkey) & PKEY_PARTITION ? be16toh(pkey) : 0;
}

static void describe_table(const struct device *device, uint64_t port_num,
			   const struct ibv_port_attr *port, struct text *out)
{
	size_t shown = 0;

	for (uint64_t i = 0; i < port->pkey_tbl_len; i++) {
		uint16_t pkey = read_pkey(device, port_num, i);

		if (pkey && shown++ < SHOWN) {
			text_format(out, "%s0x%04x", out->length ? ", " : "", pkey);
		}
	}
	if (shown > SHOWN) {
		text_format(out, " and %zu more", shown - SHOWN);
	}
	if (shown == 0) {
		text_add(out, "nothing");
	}
}

int pkey_refuse(int ret, enum error_stage stage, struct error *err)
{
	if (err) {
		text_copy(err->call, sizeof(err->call), "pkey");
		err->stage = stage;
	}
	return ret;
}

int pkey_find(const struct device *device, uint64_t port_num, const struct ibv_port_attr *port,
	      const struct qp_settings *qp, uint16_t *ret_index, uint16_t *ret_pkey,
	      struct error *err)
{
	*ret_index = (uint16_t)qp->pkey_index;
	if (qp->pkey == SCHEMA_AUTO) {
		*ret_pkey = read_pkey(device, port_num, qp->pkey_index);
		return 0;
	}
	*ret_pkey = 0;
	for (uint64_t i = 0; i < port->pkey_tbl_len && !(*ret_pkey & PKEY_FULL); i++) {
		uint16_t pkey = read_pkey(device, port_num, i);

		if ((pkey & PKEY_PARTITION) == (qp->pkey & PKEY_PARTITION) &&
		    (!*ret_pkey || pkey & PKEY_FULL)) {
			*ret_index = (uint16_t)i;
			*ret_pkey = pkey;
		}
	}
	if (*ret_pkey) {
		return 0;
	}

	_cleanup_text_ struct text table = TEXT_INIT;
	describe_table(device, port_num, port, &table);
	int ret = error_set(
		err, -ENOENT, ERROR_DEVICE,
		"%s port %llu is in no partition 0x%04llx (qp.pkey): its P_Key table has %s; let "
		"the subnet manager add it, or name another",
		device->name, (unsigned long long)port_num,
		(unsigned long long)qp->pkey & PKEY_PARTITION, table.data);

	return pkey_refuse(ret, STAGE_RESOURCE, err);
}
