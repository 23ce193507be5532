// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/link_news.h"
#include "util/clock.h"

#define SECOND_NS 1000000000ull

/* A message about an interface, as the kernel writes it; attributes before the name. */
struct letter {
	struct nlmsghdr header;
	struct ifinfomsg info;
	char rest[64];
};

static struct letter letter_about(const char *name, unsigned short type)
{
	struct letter letter = { .header = { .nlmsg_type = type } };
	struct rtattr *mtu = (struct rtattr *)letter.rest;
	struct rtattr *attribute = (struct rtattr *)(letter.rest + RTA_SPACE(4));
	size_t length = strlen(name) + 1;

	*mtu = (struct rtattr){ .rta_type = IFLA_MTU, .rta_len = RTA_LENGTH(4) };
	attribute->rta_type = IFLA_IFNAME;
	attribute->rta_len = (unsigned short)RTA_LENGTH(length);
	memcpy(RTA_DATA(attribute), name, length);
	letter.header.nlmsg_len =
		(uint32_t)(offsetof(struct letter, rest) + RTA_SPACE(4) + RTA_LENGTH(length));
	return letter;
}

static bool is_eth7(void *arg, const char *netdev)
{
	return strcmp(netdev, "eth7") == 0;
}

static bool is_news(const void *bytes, size_t size)
{
	return link_news_read(bytes, size, is_eth7, NULL);
}

static void news_of_our_interfaces_are_told_from_those_of_others(void **state)
{
	struct letter both[] = { letter_about("veth0815", RTM_NEWLINK),
				 letter_about("eth7", RTM_DELLINK) };
	struct letter other = letter_about("eth7", RTM_NEWADDR);

	assert_false(is_news(&both[0], both[0].header.nlmsg_len));
	assert_true(is_news(&both[1], both[1].header.nlmsg_len));
	assert_false(is_news(&other, other.header.nlmsg_len));
	/* Behind one of another interface, in the same datagram. */
	both[0].header.nlmsg_len = sizeof(both[0]);
	assert_true(is_news(both, sizeof(both)));
	assert_false(is_news(both, sizeof(both[0])));
}

static void what_is_no_message_is_nothing(void **state)
{
	const struct letter good = letter_about("eth7", RTM_NEWLINK);
	_Alignas(struct nlmsghdr) unsigned char bytes[sizeof(good)];

	/* Cut anywhere, and with any byte of it changed: it ends, and stays inside. */
	for (size_t size = 0; size < good.header.nlmsg_len; size++) {
		assert_false(is_news(&good, size));
	}
	for (size_t at = 0; at < good.header.nlmsg_len; at++) {
		static const unsigned char values[] = { 0, 1, 3, 0x7f, 0xff };

		for (size_t i = 0; i < sizeof(values); i++) {
			memcpy(bytes, &good, sizeof(good));
			bytes[at] = values[i];
			is_news(bytes, good.header.nlmsg_len);
		}
	}
}

static void count(void *arg)
{
	++*(unsigned *)arg;
}

static bool is_loopback(void *arg, const char *netdev)
{
	return strcmp(netdev, "lo") == 0;
}

static void set_mtu(int mtu)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_mtu = mtu };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_return_code(ioctl(fd, SIOCSIFMTU, &request), 0);
	close(fd);
}

static void run_until(sd_event *event, const unsigned *told, unsigned count, uint64_t for_ns)
{
	uint64_t until_ns = clock_mono_ns() + for_ns;

	while (*told < count && clock_mono_ns() < until_ns) {
		sd_event_run(event, 50000);
	}
}

/* In a network of its own, whose loopback interface is nobody else's. */
static void an_mtu_that_changes_is_told_by_the_kernel_and_many_changes_are_one(void **state)
{
	unsigned told = 0;
	struct link_news *news;
	sd_event *event;
	struct link_news_options options = { .is_ours = is_loopback,
					     .changed = count,
					     .arg = &told };

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		print_message("skipped: no network namespace may be made here: %s\n",
			      strerrordesc_np(errno));
		skip();
	}
	assert_return_code(sd_event_new(&event), 0);
	options.event = event;
	assert_return_code(link_news_new(&news, &options), 0);
	for (int mtu = 1500; mtu < 1520; mtu++) {
		set_mtu(mtu);
	}
	run_until(event, &told, 1, 20 * SECOND_NS);
	assert_int_equal(told, 1);
	run_until(event, &told, 2, LINK_NEWS_PAUSE_NS * 2);
	assert_int_equal(told, 1);
	set_mtu(9000);
	run_until(event, &told, 2, 20 * SECOND_NS);
	assert_int_equal(told, 2);
	link_news_free(news);
	sd_event_unref(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(news_of_our_interfaces_are_told_from_those_of_others),
		cmocka_unit_test(what_is_no_message_is_nothing),
		cmocka_unit_test(
			an_mtu_that_changes_is_told_by_the_kernel_and_many_changes_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
