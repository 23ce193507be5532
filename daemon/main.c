// SPDX-License-Identifier: MIT

/*
 * rdmatestd: reads the command line, then makes one daemon and turns its loop.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "config/config.h"
#include "control/session.h"
#include "daemon.h"
#include "key_check.h"
#include "model/topology.h"
#include "run/doctor.h"
#include "util/clock.h"
#include "util/cpu_list.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/thread.h"

#define EXIT_CONFIG 78
#define DEFAULT_CONFIG "/etc/rdmatestd/rdmatestd.yaml"
#define PROBLEM_LINES 50

static const char usage[] =
	"usage: rdmatestd [--config=FILE] [--check | --doctor [--json] | --print-fields | --version | --help]\n"
	"\n"
	"  --config=FILE    the main configuration file (default " DEFAULT_CONFIG ")\n"
	"  --check          read the configuration, say every error, exit 0 or 78; no device, no root\n"
	"  --doctor         look at this host: can it run RDMA tests, and if not, what to do; no configuration, no root;\n"
	"                   exit 0, or 1 if something is bad\n"
	"  --json           --doctor for programs\n"
	"  --print-fields   the reference of every configuration key (Markdown)\n"
	"  --version        version and exit\n"
	"  --help           this text\n";

struct arguments {
	const char *config;
	bool is_check;
	bool is_doctor;
	bool is_json;
	bool is_print_fields;
};

struct program {
	sd_event *event;
	struct daemon *daemon;
	bool is_stopping;
};

static int parse_arguments(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' }, { "check", no_argument, NULL, 'k' },
		{ "doctor", no_argument, NULL, 'd' },	    { "json", no_argument, NULL, 'j' },
		{ "print-fields", no_argument, NULL, 'p' }, { "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },	    { 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "c:Vh", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			arguments->config = optarg;
			break;
		case 'k':
			arguments->is_check = true;
			break;
		case 'd':
			arguments->is_doctor = true;
			break;
		case 'j':
			arguments->is_json = true;
			break;
		case 'p':
			arguments->is_print_fields = true;
			break;
		case 'V':
			printf("rdmatestd %s\n", RDMATESTD_VERSION);
			exit(EXIT_SUCCESS);
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "rdmatestd: unexpected argument \"%s\"\n%s", argv[optind], usage);
		return 2;
	}
	if (arguments->is_check + arguments->is_doctor + arguments->is_print_fields > 1) {
		fprintf(stderr,
			"rdmatestd: --check, --doctor and --print-fields are done one at a time\n%s",
			usage);
		return 2;
	}
	if (arguments->is_json && !arguments->is_doctor) {
		fprintf(stderr, "rdmatestd: --json goes with --doctor\n%s", usage);
		return 2;
	}
	return 0;
}

static void host_name(char *name, size_t size)
{
	if (gethostname(name, size) < 0) {
		text_copy(name, size, "localhost");
	}
	name[size - 1] = '\0';
}

static int print_fields(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	config_print_fields(&out);
	fputs(out.data, stdout);
	return EXIT_SUCCESS;
}

static void print_refusal(unsigned errors, const char *problems, bool is_check)
{
	fprintf(stderr, "%u error%s; ", errors, errors == 1 ? "" : "s");
	if (is_check && geteuid() != 0 && strstr(problems, "Permission denied")) {
		fputs("this user may not read all of it: check it as root, or as the user that the daemon runs as\n",
		      stderr);
	} else {
		fprintf(stderr, "the daemon %s this configuration\n",
			is_check ? "would refuse" : "refuses");
	}
}

/* Prints all problems; NULL when there are errors. */
static struct config *load(const char *path, bool is_check)
{
	char name[256];
	struct problems problems;
	_cleanup_text_ struct text out = TEXT_INIT;
	struct config *config;

	host_name(name, sizeof(name));
	problems_init(&problems);
	config = config_load(path, name, &problems);
	if (config != NULL && is_check) {
		struct tls_key key;

		if (key_check(config, true, &key, &problems) < 0) {
			config_unref(take(config));
		}
		explicit_bzero(&key, sizeof(key));
	}
	problems_print(&problems, PROBLEM_LINES, &out);
	if (out.length > 0) {
		fputs(out.data, stderr);
	}
	if (config == NULL) {
		print_refusal(problems.errors, out.length > 0 ? out.data : "", is_check);
	} else if (is_check) {
		printf("%s: good: %zu scenario%s, %zu peer%s, %zu file%s\n", path,
		       config->scenario_count, config->scenario_count == 1 ? "" : "s",
		       config->peer_count, config->peer_count == 1 ? "" : "s", config->file_count,
		       config->file_count == 1 ? "" : "s");
	}
	problems_done(&problems);
	return config;
}

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	struct program *program = arg;

	if (program->is_stopping) {
		log_warning("second signal: ending at once");
		_exit(EXIT_FAILURE);
	}
	program->is_stopping = true;
	daemon_stop(program->daemon,
		    info->ssi_signo == SIGINT ? "interrupted" : "the daemon was told to stop");
	return 0;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	struct program *program = arg;

	daemon_reload(program->daemon, NULL, NULL);
	return 0;
}

static void on_stopped(void *arg, int status)
{
	struct program *program = arg;

	sd_event_exit(program->event, status);
}

/* Sockets that systemd holds for us, by their FileDescriptorName=. */
static void inherit_sockets(struct daemon_options *options)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names);

	for (int i = 0; i < count; i++) {
		int fd = SD_LISTEN_FDS_START + i;

		if (strcmp(names[i], "http") == 0 && options->http_fd < 0) {
			options->http_fd = fd;
		} else if (strcmp(names[i], "admin") == 0 && options->admin_fd < 0) {
			options->admin_fd = fd;
		} else {
			log_warning(
				"inherited socket \"%s\" is not used: only one \"http\" and one \"admin\" are",
				names[i]);
			close(fd);
		}
		free(names[i]);
	}
	free(names);
}

/* Of a socket that systemd holds, the configuration says nothing: whoever wrote it there is told.
 */
static void tell_unused_addresses(const struct daemon_options *options)
{
	const struct daemon_settings *settings = &options->config->daemon;

	if (options->http_fd >= 0 && strcmp(settings->http_listen, TOPOLOGY_HTTP_LISTEN) != 0) {
		log_warning(
			"daemon.http.listen \"%s\" is not used: systemd listens instead; set ListenStream= with "
			"systemctl edit rdmatestd-http.socket, or disable that unit",
			settings->http_listen);
	}
	if (options->admin_fd >= 0 && strcmp(settings->admin_socket, TOPOLOGY_ADMIN_SOCKET) != 0) {
		log_warning(
			"daemon.admin_socket \"%s\" is not used: systemd listens instead; set ListenStream= with "
			"systemctl edit rdmatestd-admin.socket, or disable that unit",
			settings->admin_socket);
	}
}

static int add_signals(struct program *program)
{
	static const struct {
		int number;
		sd_event_signal_handler_t handler;
	} signals[] = {
		{ SIGTERM, on_terminate },
		{ SIGINT, on_terminate },
		{ SIGHUP, on_hangup },
	};
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaddset(&mask, signals[i].number);
	}
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0) {
		return -errno;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		int r = sd_event_add_signal(program->event, NULL, signals[i].number,
					    signals[i].handler, program);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* The exit status of who cannot start. */
static int leave_unable(const struct error *err, int ret)
{
	log_error("%s", err->text);
	sd_notifyf(0, "STATUS=%s\nERRNO=%d", err->text, -ret);
	return err->class == ERROR_INPUT ? EXIT_CONFIG : EXIT_FAILURE;
}

static int keep_to_control_cpus(const char *list, struct error *err)
{
	_cleanup_free_ int *cpus = memory_new_array(CPU_LIST_MAX, sizeof(*cpus));
	int count = list[0] ? cpu_list_read(list, cpus, err) : 0;
	int ret = count > 0 ? thread_keep_to(cpus, (unsigned)count, err) : count;

	if (ret < 0) {
		error_prefix(err, "daemon.control_cpus");
	}
	return ret;
}

static int serve(struct config *config)
{
	struct program program = { 0 };
	char name[256];
	struct daemon_options options = {
		.config = config,
		.host_name = name,
		.sys_root = "",
		.http_fd = -1,
		.admin_fd = -1,
		.protocol = SESSION_PROTOCOL,
		.stopped = on_stopped,
		.arg = &program,
	};
	struct error err = ERROR_INIT;
	int r;

	thread_give_way();
	host_name(name, sizeof(name));
	log_set_level((enum log_level)config->daemon.log_level);
	r = keep_to_control_cpus(config->daemon.control_cpus, &err);
	if (r < 0) {
		return leave_unable(&err, r);
	}
	r = sd_event_new(&program.event);
	if (r >= 0) {
		r = add_signals(&program);
	}
	if (r < 0) {
		error_set_call(&err, -r, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_new",
			       "the event loop cannot be made");
		log_error("%s", err.text);
		sd_event_unref(program.event);
		return EXIT_FAILURE;
	}
	options.event = program.event;
	inherit_sockets(&options);
	tell_unused_addresses(&options);
	r = daemon_new(&program.daemon, &options, &err);
	if (r < 0) {
		sd_event_unref(program.event);
		return leave_unable(&err, r);
	}
	r = sd_event_loop(program.event);
	daemon_free(program.daemon);
	sd_event_unref(program.event);
	return r < 0 ? EXIT_FAILURE : r;
}

/* Where a standard stream is closed, the next descriptor would be taken for it: log lines would go
 * to a peer. */
static void hold_standard_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0) {
		close(fd);
	}
}

/* Whoever reads our output may have gone: that ends no daemon. */
static void block_pipe_signal(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGPIPE);
	sigprocmask(SIG_BLOCK, &mask, NULL);
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .config = DEFAULT_CONFIG };
	struct config *config;
	int status;

	hold_standard_streams();
	block_pipe_signal();
	status = parse_arguments(argc, argv, &arguments);
	if (status != 0) {
		return status;
	}
	if (arguments.is_print_fields) {
		return print_fields();
	}
	clock_init();
	if (arguments.is_doctor) {
		return doctor_run("", arguments.is_json, stdout);
	}
	config = load(arguments.config, arguments.is_check);
	if (config == NULL) {
		return EXIT_CONFIG;
	}
	status = arguments.is_check ? EXIT_SUCCESS : serve(config);
	config_unref(config);
	return status;
}
