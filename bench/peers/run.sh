#!/bin/bash
# Starts each lock service on loopback, measures it, stops it, and prints the tables.
# Usage: ./run.sh [DIRECTORY [REPEATS [SERVICE...]]]
# DIRECTORY holds the servers' data and the results; put it on the disk that you want to measure. The default number of
# clients is 64; set CLIENTS="1 16 64" for others. Every load lasts a few seconds. The script stops every server that it
# started, by process id.
#
# Other work on the machine distorts the figures. So each run waits until the machine is idle, and is repeated if other
# processes disturbed it, for at most PATIENCE seconds in total.
set -euo pipefail

patience=${PATIENCE:-600}
disturbed_above=15 # percent of one core used by other processes

dir=$(realpath -m "${1:-results}")
repeats=${2:-3}
services=("${@:3}")
[ ${#services[@]} -gt 0 ] || services=(etcd-1 quorate-1 zookeeper-1 redis-1-fsync quorate-1-own etcd-3 quorate-3)
read -ra clients_of_runs <<<"${CLIENTS:-64}"

here=$(cd "$(dirname "$0")" && pwd)
cargo build --release --quiet --manifest-path "$here/Cargo.toml"
peers="${CARGO_TARGET_DIR:-$here/target}/release/peers"
# The published figures are those of the packaged binary.
cargo build --profile dist --quiet --manifest-path "$here/../../Cargo.toml" --package quorate
quorate="${CARGO_TARGET_DIR:-$here/../../target}/dist/quorate"

mkdir -p "$dir"
results="$dir/results.jsonl"
pids=()

stop_servers() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    pids=()
    rm -rf "$dir/data"
}
trap stop_servers EXIT

# serve NAME COMMAND...: starts one server in its own data directory.
serve() {
    local name=$1
    shift
    mkdir -p "$dir/data/$name" "$dir/log"
    (cd "$dir/data/$name" && exec "$@") >"$dir/log/$name.log" 2>&1 &
    pids+=($!)
}

serve_etcd() { # how many
    local count=$1 n cluster=
    for ((n = 1; n <= count; n++)); do cluster+="${cluster:+,}n$n=http://127.0.0.1:$((23800 + n))"; done
    for ((n = 1; n <= count; n++)); do
        serve "etcd-$count.$n" etcd --name "n$n" --data-dir data \
            --listen-client-urls "http://127.0.0.1:$((23790 + n))" \
            --advertise-client-urls "http://127.0.0.1:$((23790 + n))" \
            --listen-peer-urls "http://127.0.0.1:$((23800 + n))" \
            --initial-advertise-peer-urls "http://127.0.0.1:$((23800 + n))" \
            --initial-cluster "$cluster" --initial-cluster-state new \
            --logger zap --log-level warn
    done
    endpoints=$(endpoint_list 23790 "$count")
}

serve_quorate() { # how many
    local count=$1 n members=()
    for ((n = 1; n <= count; n++)); do members+=(--member "$n=127.0.0.1:$((17420 + n))"); done
    for ((n = 1; n <= count; n++)); do
        serve "quorate-$count.$n" "$quorate" serve --data data --node "$n" --listen "127.0.0.1:$((17420 + n))" \
            "${members[@]}"
    done
    endpoints=$(endpoint_list 17420 "$count")
}

serve_zookeeper() { # how many
    local count=$1 n m name
    for ((n = 1; n <= count; n++)); do
        name="zookeeper-$count.$n"
        mkdir -p "$dir/data/$name/data"
        echo "$n" >"$dir/data/$name/data/myid"
        {
            # Debian's own defaults, then what one machine needs.
            echo "tickTime=2000"
            echo "initLimit=10"
            echo "syncLimit=5"
            echo "dataDir=data"
            echo "clientPort=$((21810 + n))"
            echo "clientPortAddress=127.0.0.1"
            echo "maxClientCnxns=0"
            echo "admin.enableServer=false"
            if ((count > 1)); then
                for ((m = 1; m <= count; m++)); do
                    echo "server.$m=127.0.0.1:$((28880 + m)):$((38880 + m))"
                done
            fi
        } >"$dir/data/$name/zoo.cfg"
        serve "$name" java -Xmx1000m \
            -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar \
            org.apache.zookeeper.server.quorum.QuorumPeerMain zoo.cfg
    done
    endpoints=$(endpoint_list 21810 "$count")
}

serve_redis() { # how many, then further options
    local count=$1 n
    shift
    for ((n = 1; n <= count; n++)); do
        serve "redis-$count.$n" redis-server --bind 127.0.0.1 --port $((63790 + n)) "$@"
    done
    endpoints=$(endpoint_list 63790 "$count")
}

endpoint_list() { # base port, how many
    seq -f "127.0.0.1:%.0f" -s, $(($1 + 1)) $(($1 + $2))
}

busy_ticks() { awk '/^cpu /{print $2 + $3 + $4 + $7 + $8 + $9}' /proc/stat; }

# Waits until the machine is idle, except for the servers' own background work.
wait_for_quiet() {
    local before
    while ((patience > 0)); do
        before=$(busy_ticks)
        sleep 1
        (($(busy_ticks) - before > 2 * disturbed_above)) || return 0
        patience=$((patience - 1))
    done
}

# run ARGUMENTS...: does one measured run and keeps its result line; repeats the run if it was disturbed.
run() {
    local out others tries
    for ((tries = 1; tries <= 3; tries++)); do
        wait_for_quiet
        out=$("$peers" run --backend "$backend" --endpoint "$endpoints" \
            --server-pid "$(IFS=, && echo "${pids[*]}")" "$@")
        echo "$out" | sed -n 3p
        echo "$out" | grep '^{' >>"$results"
        others=$(echo "$out" | sed -n 's/.*"cpu_others_pct":\([0-9]*\).*/\1/p')
        if ((others <= disturbed_above || patience <= 0)); then return 0; fi
        patience=$((patience - 5))
    done
}

# Waits until the service answers, then warms it up.
warm_up() {
    local tries
    for ((tries = 1; ; tries++)); do
        if "$peers" run --backend "$backend" --endpoint "$endpoints" --workload uncontended \
            --clients 3 --warmup 0 --seconds 1 2>/dev/null | grep -q '"errors":0,'; then break; fi
        if ((tries == 30)); then echo "$backend does not answer" >&2 && return 1; fi
        sleep 0.5
    done
    "$peers" run --backend "$backend" --endpoint "$endpoints" --workload uncontended \
        --clients 64 --warmup 0 --seconds 10 >/dev/null
}

measure() { # label
    local workload clients
    for workload in uncontended contended; do
        for clients in "${clients_of_runs[@]}"; do
            run --label "$1" --workload "$workload" --clients "$clients"
        done
    done
}

for ((repeat = 1; repeat <= repeats; repeat++)); do
    echo "# repeat $repeat: $(date -u +%T)"
    wait_for_quiet
    "$peers" floor --dir "$dir" | grep '^{' >>"$results"
    for service in "${services[@]}"; do
        case $service in
        etcd-*) backend=etcd && serve_etcd "${service#etcd-}" ;;
        quorate-1-own) backend=quorate && serve_quorate 1 ;;
        quorate-*) backend=etcd && serve_quorate "${service#quorate-}" ;;
        zookeeper-*) backend=zookeeper && serve_zookeeper "${service#zookeeper-}" ;;
        redis-1) backend=redis && serve_redis 1 ;;
        redis-1-fsync) backend=redis && serve_redis 1 --appendonly yes --appendfsync always ;;
        redlock-5) backend=redlock && serve_redis 5 ;;
        *) echo "unknown service $service" >&2 && exit 1 ;;
        esac
        warm_up
        measure "$service"
        if [ "$service" = redis-1 ] || [ "$service" = redlock-5 ]; then
            # The same lock, polled far more often than the clients poll by default.
            for clients in 16 64; do
                run --label "$service-poll-1ms" --workload contended --clients "$clients" \
                    --retry-min-ms 1 --retry-max-ms 2
            done
        fi
        "$peers" crash --backend "$backend" --endpoint "$endpoints" --label "$service" \
            --ttl-ms 5000 | grep '^{' >>"$results" || true
        stop_servers
    done
done

"$peers" summarize --max-others $disturbed_above <"$results"
