// SPDX-License-Identifier: MIT
#include "fake/way.h"

#include <errno.h>

#define LID_MOST 0xbfff /* above are multicast LIDs */

uint16_t way_lid(const struct fabric_device *device)
{
	return device->config.is_infiniband ? (uint16_t)(device->index + 1) : 0;
}

int way_check(const struct fabric_device *device, const struct ibv_ah_attr *attr)
{
	bool is_local = device->config.is_infiniband && !attr->is_global;

	if (attr->port_num != NIC_PORT) {
		return EINVAL;
	}
	if (is_local) {
		return attr->dlid == 0 || attr->dlid > LID_MOST ? EINVAL : 0;
	}
	if (!attr->is_global || attr->grh.sgid_index >= NIC_GIDS) {
		return EINVAL;
	}
	/* the own address is gone */
	return attr->grh.sgid_index == 1 && !device->has_address ? ENODATA : 0;
}

int way_find(struct fabric_device *device, const struct ibv_ah_attr *attr,
	     struct fabric_device **ret)
{
	struct fabric *fabric = device->fabric;

	if (attr->is_global) {
		*ret = nic_find_gid(fabric, &attr->grh.dgid);
	} else {
		*ret = attr->dlid <= fabric->device_count ? fabric->devices[attr->dlid - 1] : NULL;
	}
	device->counters.ways_by_lid += !attr->is_global;
	if (*ret != NULL && (*ret)->config.is_infiniband != device->config.is_infiniband) {
		*ret = NULL;
	}
	/* On InfiniBand nobody asks the neighbour: packets are lost. */
	return device->config.is_infiniband || (*ret != NULL && (*ret)->is_up) ? 0 : ETIMEDOUT;
}

uint16_t way_pkey(const struct fabric_device *device, unsigned index)
{
	return index < FABRIC_PKEYS ? device->config.pkeys[index] : 0;
}

bool way_takes(struct fake_qp *qp, uint16_t pkey)
{
	uint16_t own = way_pkey(qp->device, qp->attr.pkey_index);
	bool is_same = ((own ^ pkey) & 0x7fff) == 0 && ((own | pkey) & 0x8000) != 0;

	qp->device->counters.pkey_violations += !is_same;
	return is_same;
}
