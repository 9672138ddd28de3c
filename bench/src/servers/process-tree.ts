import { readdirSync, readFileSync } from 'node:fs'

/** Linux's unit of processor time. */
const TICK_MS = 10

/** Kills processes with all descendants, like a power failure. Stops all first, so that no child continues without its parent. */
export function killTree(roots: readonly number[]): void {
  const all = roots.flatMap((root) => [root, ...descendantsOf(root)])
  for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of all) send(pid, signal)
}

/** Returns the processor time of a process, its descendants, and its ended children, in milliseconds. */
export function processorMsOf(root: number): number {
  const running = [root, ...descendantsOf(root)].map((pid) => ticksOf(pid, OWN_TIMES))
  return (running.reduce((sum, ticks) => sum + ticks, 0) + ticksOf(root, TIMES_OF_ENDED_CHILDREN)) * TICK_MS
}

/** Returns the processor time of one process in milliseconds. `undefined` if the system does not report it. */
export function processorMsOfOne(pid: number | undefined): number | undefined {
  return statOf(pid).length === 0 ? undefined : ticksOf(pid, OWN_TIMES) * TICK_MS
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has just ended.
  }
}

function descendantsOf(pid: number): readonly number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? Number(statOf(Number(name))[PARENT]) : Number.NaN
    if (parent > 0) parents.set(Number(name), parent)
  }
  const below = (id: number): readonly number[] =>
    [...parents].filter(([, parent]) => parent === id).flatMap(([child]) => [child, ...below(child)])
  return below(pid)
}

/** The positions of user and system time in the list of `statOf`. */
const OWN_TIMES = [11, 12] as const
const TIMES_OF_ENDED_CHILDREN = [13, 14] as const
const PARENT = 1

function ticksOf(pid: number | undefined, [user, system]: readonly [number, number]): number {
  const fields = statOf(pid)
  return Number(fields[user] ?? 0) + Number(fields[system] ?? 0)
}

/**
 * Returns the fields with which Linux describes a process, after its name in parentheses, which may contain spaces. Empty if the
 * process has ended.
 */
function statOf(pid: number | undefined): readonly string[] {
  const text = readProcess(pid, 'stat')
  return text === '' ? [] : (text.split(') ').at(-1)?.split(' ') ?? [])
}

/** Reads a /proc file of a process. Empty if the process has ended. */
export function readProcess(pid: number | undefined, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
