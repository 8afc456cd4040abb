#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_device.sh PROGRAM: an annotated program on a machine without a usable device: it runs as it would without
# annotations, and the reason why nothing is recorded is named. PROGRAM ends with 2 there, because it needs a device itself.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said=$(CUDA_VISIBLE_DEVICES='' IKET_OUTPUT_DIR=$work/trace "$1" 2>&1)
case $said in
*"iket: no device to record on"*) ;;
*) echo "not named: $said"; exit 1 ;;
esac
said=$(CUDA_VISIBLE_DEVICES='' "$1" 2>&1)
case $said in
*iket:*) echo "something is said unasked: $said"; exit 1 ;;
esac
said=$(CUDA_VISIBLE_DEVICES='' IKET_VERBOSE=1 "$1" 2>&1)
case $said in
*"iket: nothing was recorded: there was no session"*) exit 0 ;;
esac
echo "not said when asked: $said"
exit 1
