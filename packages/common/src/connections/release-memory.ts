import { executionAsyncResource } from 'node:async_hooks'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'

interface CollectOptions {
  readonly type: 'minor' | 'major'
  readonly execution: 'sync'
  readonly flavor: 'regular' | 'last-resort'
}

/**
 * Collects the garbage from loading a thousand modules. It is a quarter of the resident memory of an idle process, and V8 would
 * keep it until the heap is full again. The collection takes about 30 ms, so call this function before requests arrive.
 */
export function releaseMemory(): void {
  collect({ type: 'major', flavor: 'last-resort' })
}

const CUTS_CHECK_MS = 500
const CUTS_WATCH_MS = 30_000
const LASTING_SPACES: ReadonlySet<string> = new Set(['old_space', 'large_object_space'])
const GROWTH_BYTES = 6 * 1_024 * 1_024

/**
 * Returns a function to call when the server has closed connections. V8 counts their objects as long-lived, and lets the heap
 * grow by half before it collects them. An attack would then take as much memory after its end as before. So for 30 s after such
 * a close, a full collection runs after each 6 MiB of growth.
 */
export function createReleaseAfterCuts(): () => void {
  let watch: NodeJS.Timeout | undefined
  let untilMs = 0
  let leastBytes = lastingBytes()
  const check = () => {
    const bytes = lastingBytes()
    leastBytes = Math.min(leastBytes, bytes)
    if (bytes >= leastBytes + GROWTH_BYTES) {
      collect({ type: 'major' })
      leastBytes = lastingBytes()
    }
    if (performance.now() < untilMs) return
    clearInterval(watch)
    watch = undefined
  }
  return () => {
    untilMs = performance.now() + CUTS_WATCH_MS
    watch ??= setInterval(check, CUTS_CHECK_MS).unref()
  }
}

/** Returns the bytes of old objects and of all buffers, including unused buffers. */
function lastingBytes(): number {
  const lasting = v8.getHeapSpaceStatistics().filter(({ space_name }) => LASTING_SPACES.has(space_name))
  return bufferBytes() + lasting.reduce((sum, { space_used_size }) => sum + space_used_size, 0)
}

const CHECK_MS = 200
const BUFFERS_BYTES = 8 * 1_024 * 1_024
const THROWN_AWAY_BYTES = 4 * 1_024 * 1_024
const OLD_BUFFERS_BYTES = 32 * 1_024 * 1_024

/**
 * Limits the garbage. V8 counts objects but hardly the bytes of their buffers. A client that sends megabytes of refused bodies
 * would leave 64 MiB before V8 collects them. This function checks the buffers five times a second. It also lets the heap grow by
 * only 30 percent between two collections, instead of by half.
 */
export function boundGarbage(): void {
  v8.setFlagsFromString('--heap-growing-percent=30')
  const begunAtBytes = bufferBytes()
  let leastBytes = begunAtBytes
  const check = () => {
    const bytes = bufferBytes()
    leastBytes = Math.min(leastBytes, bytes)
    if (bytes < leastBytes + BUFFERS_BYTES) return
    collect({ type: 'minor' })
    if (bufferBytes() > begunAtBytes + OLD_BUFFERS_BYTES) collect({ type: 'major' })
    leastBytes = bufferBytes()
  }
  setInterval(check, CHECK_MS).unref()
}

let thrownAwayBytes = 0

/** Counts a dropped buffer, and collects after each 4 MiB. For buffers that appear as fast as a client sends. */
export function countThrownAway({ byteLength }: Uint8Array): void {
  thrownAwayBytes += byteLength
  if (thrownAwayBytes < THROWN_AWAY_BYTES) return
  thrownAwayBytes = 0
  collect({ type: 'minor' })
}

function bufferBytes(): number {
  return process.memoryUsage().arrayBuffers
}

let run: ((options: CollectOptions) => void) | undefined

function collect(options: Pick<CollectOptions, 'type'> & Partial<CollectOptions>): void {
  run ??= findCollect()
  run({ execution: 'sync', flavor: 'regular', ...options })
}

function findCollect(): (options: CollectOptions) => void {
  v8.setFlagsFromString('--expose-gc')
  const found: unknown = runInNewContext('gc')
  v8.setFlagsFromString('--no-expose-gc')
  return isCollect(found) ? found : () => {}
}

function isCollect(value: unknown): value is (options: CollectOptions) => void {
  return typeof value === 'function'
}

const kept: object[] = []

/**
 * Keeps one of the objects that `process.nextTick` creates for the life of the process. This also keeps the hidden class of these
 * objects. If a full collection found none of them alive, V8 would drop the hidden class, and the next object would get a
 * different one. V8 would then write each of their members with a runtime call, because their names are computed. A tick would
 * take 300 ns instead of 50 ns, and a request has about ten ticks. Call this function before the first collection.
 */
export function keepTickShape(): void {
  process.nextTick(() => kept.push(executionAsyncResource()))
}
