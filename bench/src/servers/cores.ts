import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The cores on which processes run, as lists that `taskset` reads: `0`, `2-7`. */
export interface Cores {
  /** The server under test runs alone, so that it cannot use the cores of other processes. */
  readonly server: string
  readonly load: string
  readonly database: string
  readonly all: string
}

/**
 * Divides the cores. Of two cores the server has the first; load generator and PostgreSQL share the second. Reads are then
 * bounded by one core of Node, and writes mostly by PostgreSQL. Of more cores, PostgreSQL gets the rest. Undefined for one
 * core, which cannot be divided.
 */
export function divideCores(count: number): Cores | undefined {
  if (count < 2) return undefined
  return { server: '0', load: '1', database: count === 2 ? '1' : `2-${count - 1}`, all: `0-${count - 1}` }
}

export function canPin(): boolean {
  return spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0
}

export function pinned(cores: string | undefined, program: string, args: readonly string[]): readonly string[] {
  return cores === undefined ? [program, ...args] : ['taskset', '-c', cores, program, ...args]
}

/** Moves a running process with its threads and children to other cores. Later children run there too. */
export function moveToCores(pid: number, cores: string): void {
  for (const id of [pid, ...childrenOf(pid)]) {
    try {
      execFileSync('taskset', ['-acp', cores, String(id)], { stdio: 'ignore' })
    } catch {
      // The process has ended already.
    }
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return text === '' ? [] : text.split(' ').map(Number)
  } catch {
    return []
  }
}
