import { executionAsyncResource } from 'node:async_hooks'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'

interface CollectOptions {
  readonly type: 'minor' | 'major'
  readonly execution: 'sync'
  readonly flavor: 'regular' | 'last-resort'
}

/**
 * Collects the garbage of loading a thousand modules, a quarter of the resident memory of an idle process. V8 would keep
 * it until the heap is full again. It takes about 30 ms: call it before requests arrive.
 */
export function releaseMemory(): void {
  collect({ type: 'major', flavor: 'last-resort' })
}

const CUTS_CHECK_MS = 500
const CUTS_WATCH_MS = 30_000
const LASTING_SPACES: ReadonlySet<string> = new Set(['old_space', 'large_object_space'])
const GROWTH_BYTES = 6 * 1_024 * 1_024

/**
 * Returns a function to call when connections are cut. What they leave behind has lived so long that V8 counts it as
 * long-lived, and lets the heap grow by half before it collects it: an attack would take as much memory after its connections
 * were cut as before. So for half a minute after a cut, everything is collected each time that 6 MiB were added.
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

/** Bytes of old objects and of all buffers, including unused buffers. */
function lastingBytes(): number {
  const lasting = v8.getHeapSpaceStatistics().filter(({ space_name }) => LASTING_SPACES.has(space_name))
  return bufferBytes() + lasting.reduce((sum, { space_used_size }) => sum + space_used_size, 0)
}

const CHECK_MS = 200
const BUFFERS_BYTES = 8 * 1_024 * 1_024
const THROWN_AWAY_BYTES = 4 * 1_024 * 1_024
const OLD_BUFFERS_BYTES = 32 * 1_024 * 1_024

/**
 * Bounds the garbage. V8 counts objects, but hardly the bytes of their buffers, so a client that sends megabytes of refused
 * bodies would leave 64 MiB before they are collected. Here the buffers are checked five times a second. In addition, the heap
 * may grow by 30 percent between two collections, not by half.
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

/** Call it for buffers that are dropped as fast as a client can send. They are collected after each 4 MiB. */
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
 * Keeps one of the objects that `process.nextTick` makes for as long as the process lives, and with it their hidden class. If a
 * full collection found none of them alive, V8 would drop the class and give the next object a different one. From then on it
 * would write each of their members, whose names are computed, by a call of its runtime: 300 ns a tick instead of 50 ns, and a
 * request has some ten ticks. Call it before the first collection.
 */
export function keepTickShape(): void {
  process.nextTick(() => kept.push(executionAsyncResource()))
}
