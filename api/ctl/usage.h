// SPDX-License-Identifier: MIT
#pragma once

/* What --help prints, made from the tables of commands and options. Pure. */

#include "ctl/command.h"

/* The command is not looked at. */
void usage_of_program(const struct command *command, struct paper *paper);
void usage_of_command(const struct command *command, struct paper *paper);
