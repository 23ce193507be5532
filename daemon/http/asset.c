// SPDX-License-Identifier: MIT
#include "http/asset.h"

#include <string.h>

const struct asset *asset_find(const char *name)
{
	for (const struct asset *asset = asset_table; asset->name; asset++) {
		if (strcmp(asset->name, name) == 0) {
			return asset;
		}
	}
	return NULL;
}
