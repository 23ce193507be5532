// SPDX-License-Identifier: MIT
#include "http/metrics_store.h"

const struct metrics_store_bucket metrics_store_buckets[METRICS_STORE_BUCKETS] = {
	{ 1000, "1e-06" },    { 2000, "2e-06" },    { 3000, "3e-06" },	  { 5000, "5e-06" },
	{ 7500, "7.5e-06" },  { 10000, "1e-05" },   { 20000, "2e-05" },	  { 30000, "3e-05" },
	{ 50000, "5e-05" },   { 75000, "7.5e-05" }, { 100000, "0.0001" }, { 200000, "0.0002" },
	{ 500000, "0.0005" }, { 1000000, "0.001" }, { 2000000, "0.002" }, { 5000000, "0.005" },
	{ 10000000, "0.01" }, { 20000000, "0.02" }, { 50000000, "0.05" }, { 100000000, "0.1" },
	{ 500000000, "0.5" }, { 1000000000, "1" },
};

const struct metrics_store_percentile metrics_store_percentiles[METRICS_STORE_PERCENTILES] = {
	{ 500000, "50" },
	{ 990000, "99" },
	{ 999000, "99.9" },
};
