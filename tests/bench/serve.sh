#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# serve.sh [PAIRS [SECONDS]]: iket-serve against nginx, both over one folder on loopback, asked by wrk in turns.
#
#   a small file (3 KB)      requests a second; wanted: at least 0.8 of nginx's
#   a large file (200 MB)    bytes a second; wanted: at least 0.9 of nginx's
#
# Every pair asks one server, then the other, then starts with the other; the table shows the median and the range of
# the pairs' ratios. Needs iket-serve on PATH, nginx and wrk. Ends with 1 when a median is below what is wanted.
# nginx's settings are those below: as many workers as cores, sendfile, no access log, no limit on keep-alive.
set -euo pipefail
pairs=${1:-7}
seconds=${2:-3}

for tool in iket-serve nginx wrk python3; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || {
        echo "serve.sh: $tool is not on PATH (apt-get install nginx-light wrk)" >&2
        exit 2
    }
done

work=$(mktemp -d)
pids=()
finish() {
    ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT
mkdir "$work/traces"
chmod 755 "$work" "$work/traces"
head -c 3000 /dev/urandom >"$work/traces/small.pftrace"
head -c 200000000 /dev/urandom >"$work/traces/large.pftrace"

nginx_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/nginx.conf" <<NGINX
daemon off;
worker_processes $(nproc);
pid $work/nginx.pid;
error_log $work/nginx.log;
events { worker_connections 4096; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
    uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
    server { listen 127.0.0.1:$nginx_port; root $work/traces; }
}
NGINX
PATH=$PATH:/usr/sbin nginx -c "$work/nginx.conf" 2>/dev/null &
pids+=($!)
XDG_CACHE_HOME=$work iket-serve --port 0 "$work/traces" >"$work/url" 2>/dev/null &
pids+=($!)
for _ in $(seq 100); do
    [[ -s $work/url ]] && curl -sf -o /dev/null "http://127.0.0.1:$nginx_port/small.pftrace" && break
    sleep 0.1
done
declare -A url=([nginx]="http://127.0.0.1:$nginx_port/" [iket]="$(cat "$work/url")")

# measure SERVER FILE CONNECTIONS: requests and bytes a second; an answer that is not 200 is an error.
measure() {
    wrk -t1 -c"$3" -d"${seconds}s" -s "$work/report.lua" "${url[$1]}$2" | tail -1
}
cat >"$work/report.lua" <<'LUA'
done = function(summary, latency, requests)
  local seconds = summary.duration / 1e6
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read
  print(string.format("%.0f %.0f %d", summary.requests / seconds, summary.bytes / seconds, bad))
end
LUA

echo "$(wrk -v 2>&1 | head -1 | cut -d' ' -f1,2), $(PATH=$PATH:/usr/sbin nginx -v 2>&1 | cut -d/ -f2-), $(nproc) cores, $pairs pairs of ${seconds} s"
for case in small:16 large:2; do
    for ((i = 0; i < pairs; i++)); do
        order=(nginx iket)
        ((i % 2)) && order=(iket nginx)
        for server in "${order[@]}"; do
            echo "${case%:*} $i $server $(measure "$server" "${case%:*}.pftrace" "${case#*:}")"
        done
    done
done | tee "$work/runs" | sed 's/^/  /' >&2

python3 - "$work/runs" <<'PYTHON'
import statistics, sys
runs = [line.split() for line in open(sys.argv[1])]
if any(int(run[5]) for run in runs):
    sys.exit("serve.sh: some answers were errors")
print(f"{'file':6} {'unit':>11} {'nginx':>9} {'iket-serve':>11} {'ratio':>6} {'of pairs':>13} {'wanted':>7}")
status = 0
for name, column, unit, scale, wanted in (("small", 3, "requests/s", 1, 0.8), ("large", 4, "MB/s", 1e6, 0.9)):
    value = {(run[1], run[2]): float(run[column]) for run in runs if run[0] == name}
    pairs = sorted({i for i, _ in value})
    ratios = [value[i, "iket"] / value[i, "nginx"] for i in pairs]
    of = {server: statistics.median(value[i, server] for i in pairs) / scale for server in ("nginx", "iket")}
    median = statistics.median(ratios)
    status |= median < wanted
    print(f"{name:6} {unit:>11} {of['nginx']:9.0f} {of['iket']:11.0f} {median:6.2f} {min(ratios):6.2f}-{max(ratios):.2f} {wanted:7}")
sys.exit(status)
PYTHON
