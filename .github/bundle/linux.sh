#!/bin/sh
# The manifest of a bundle names one program for each system, so this chooses the one for the processor.
exec "$(dirname "$0")/allowexec-$(uname -m)" "$@"
