#!/bin/sh
# Runs a program with memory that goes back to the system when it is no longer needed: `with-allocator.sh node …`.
# With jemalloc where it is there and can be loaded (Debian's libjemalloc2, which its redis-server brings), else with
# glibc's own allocator told to keep less. docs/guides/operating/scale-out.md has the figures. Somebody's own LD_PRELOAD stays.
export MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=32768

if [ -z "$LD_PRELOAD" ]; then
  for library in /usr/lib/*/libjemalloc.so.2 /usr/lib64/libjemalloc.so.2 /usr/lib/libjemalloc.so.2; do
    # One of another architecture is ignored by the loader, which says so at every start of anything.
    if [ -r "$library" ] && [ -z "$(LD_PRELOAD=$library env true 2>&1)" ]; then
      export LD_PRELOAD="$library"
      export MALLOC_CONF="${MALLOC_CONF:-background_thread:true,narenas:2,dirty_decay_ms:10000,muzzy_decay_ms:0}"
      break
    fi
  done
fi
exec "$@"
