import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { readonly type: 'major'; readonly execution: 'sync'; readonly flavor: string }) => void

/**
 * Collects what loading a thousand modules has left behind, a quarter of the resident memory of an idle process. V8 would
 * keep it until the heap is full again. Takes some 30 ms: call it before requests come.
 */
export function releaseMemory(): void {
  collect('last-resort')
}

const WAIT_MS = 2_000
const GROWTH_BYTES = 8 * 1_024 * 1_024

/**
 * Returns a function to call when connections are cut. What they leave behind has lived so long that V8 takes it for lasting,
 * and lets the heap grow by half before it looks again: an attack would cost as much memory after its connections were cut as
 * before. So it is collected, two seconds after a cut, where the process has grown by 8 MiB since the last time.
 */
export function createReleaseAfterCuts(): () => void {
  let isWaiting = false
  let leastBytes = process.memoryUsage.rss()
  const release = () => {
    isWaiting = false
    if (process.memoryUsage.rss() < leastBytes + GROWTH_BYTES) return
    collect('regular')
    leastBytes = process.memoryUsage.rss()
  }
  return () => {
    if (isWaiting) return
    isWaiting = true
    setTimeout(release, WAIT_MS).unref()
  }
}

function collect(flavor: 'regular' | 'last-resort'): void {
  v8.setFlagsFromString('--expose-gc')
  const run: unknown = runInNewContext('gc')
  v8.setFlagsFromString('--no-expose-gc')
  if (isCollect(run)) run({ type: 'major', execution: 'sync', flavor })
}

function isCollect(value: unknown): value is Collect {
  return typeof value === 'function'
}
