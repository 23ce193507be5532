# SPDX-License-Identifier: MIT
#
# Prints C with the text of comments and literals removed; line numbers stay.
{
	rest = $0
	out = ""
	while (rest != "") {
		if (in_comment) {
			at = index(rest, "*/")
			if (at == 0) {
				break
			}
			rest = substr(rest, at + 2)
			in_comment = 0
			continue
		}
		at = match(rest, /\/\*|\/\/|"|'/)
		if (at == 0) {
			out = out rest
			break
		}
		out = out substr(rest, 1, at - 1)
		token = substr(rest, at, RLENGTH)
		rest = substr(rest, at + RLENGTH)
		if (token == "//") {
			break
		}
		if (token == "/*") {
			in_comment = 1
			continue
		}
		while (rest != "" && substr(rest, 1, 1) != token) {
			rest = substr(rest, substr(rest, 1, 1) == "\\" ? 3 : 2)
		}
		rest = substr(rest, 2)
		out = out token token
	}
	sub(/[ \t]+$/, "", out)
	print out
}
