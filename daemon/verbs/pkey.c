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

/* False: it cannot be read. 0: the entry is empty. */
static bool read_pkey(const struct device *device, uint64_t port_num, uint64_t index, uint16_t *ret)
{
	__be16 pkey = 0;
	uint64_t started_mono_ns = call_begin("ibv_query_pkey");
	int failed = ibv_query_pkey(device->context, (uint8_t)port_num, (int)index, &pkey);

	call_end(NULL, NULL, started_mono_ns, 0);
	*ret = failed == 0 && be16toh(pkey) & PKEY_PARTITION ? be16toh(pkey) : 0;
	return failed == 0;
}

static void describe_table(const struct device *device, uint64_t port_num,
			   const struct ibv_port_attr *port, struct text *out)
{
	size_t shown = 0;

	for (uint64_t i = 0; i < port->pkey_tbl_len; i++) {
		uint16_t pkey;

		if (read_pkey(device, port_num, i, &pkey) && pkey && shown++ < SHOWN) {
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

/* Without qp.pkey: what stands there, which must be a partition. */
static int take_entry(const struct device *device, uint64_t port_num,
		      const struct ibv_port_attr *port, uint64_t index, uint16_t *ret_pkey,
		      struct error *err)
{
	_cleanup_text_ struct text table = TEXT_INIT;

	if (!read_pkey(device, port_num, index, ret_pkey) || *ret_pkey) {
		return 0;
	}
	describe_table(device, port_num, port, &table);
	return pkey_refuse(
		error_set(err, -ENOENT, ERROR_DEVICE,
			  "entry %llu (qp.pkey_index) of the P_Key table of %s port %llu is empty; "
			  "the table has %s: choose one of these, by qp.pkey",
			  (unsigned long long)index, device->name, (unsigned long long)port_num,
			  table.data),
		STAGE_RESOURCE, err);
}

static int tell_absent(const struct device *device, uint64_t port_num,
		       const struct ibv_port_attr *port, uint64_t partition, bool is_whole,
		       struct error *err)
{
	bool is_ethernet = port->link_layer == IBV_LINK_LAYER_ETHERNET;
	_cleanup_text_ struct text table = TEXT_INIT;

	if (!is_whole) {
		return error_set_call(
			err, EIO, ERROR_DEVICE, STAGE_RESOURCE, "ibv_query_pkey",
			"the P_Key table of %s port %llu cannot be read, so that 0x%04llx (qp.pkey) "
			"is not found there; name its place (qp.pkey_index) instead",
			device->name, (unsigned long long)port_num, (unsigned long long)partition);
	}
	describe_table(device, port_num, port, &table);
	return pkey_refuse(
		error_set(err, -ENOENT, ERROR_DEVICE,
			  "%s port %llu is in no partition 0x%04llx (qp.pkey): its P_Key table has "
			  "%s; %s",
			  device->name, (unsigned long long)port_num, (unsigned long long)partition,
			  table.data,
			  is_ethernet ? "on Ethernet there are no others: leave out qp.pkey"
				      : "let the subnet manager add it, or name another"),
		STAGE_RESOURCE, err);
}

int pkey_find(const struct device *device, uint64_t port_num, const struct ibv_port_attr *port,
	      const struct qp_settings *qp, uint16_t *ret_index, uint16_t *ret_pkey,
	      struct error *err)
{
	bool is_whole = true;

	*ret_index = (uint16_t)qp->pkey_index;
	if (qp->pkey == SCHEMA_AUTO) {
		return take_entry(device, port_num, port, qp->pkey_index, ret_pkey, err);
	}
	*ret_pkey = 0;
	for (uint64_t i = 0; i < port->pkey_tbl_len && !(*ret_pkey & PKEY_FULL); i++) {
		uint16_t pkey;

		if (!read_pkey(device, port_num, i, &pkey)) {
			is_whole = false;
		} else if ((pkey & PKEY_PARTITION) == (qp->pkey & PKEY_PARTITION) &&
			   (!*ret_pkey || pkey & PKEY_FULL)) {
			*ret_index = (uint16_t)i;
			*ret_pkey = pkey;
		}
	}
	return *ret_pkey ? 0
			 : tell_absent(device, port_num, port, qp->pkey & PKEY_PARTITION, is_whole,
				       err);
}
