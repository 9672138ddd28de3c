import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The cores of processes, in the list format of `taskset`: `0`, `2-7`. */
export interface Cores {
  /** The tested server gets its own cores, so that it cannot use those of other processes. */
  readonly server: string
  readonly load: string
  readonly database: string
  readonly all: string
}

/**
 * Divides the cores. With two cores, the server gets the first, and the load generator and PostgreSQL share the second. One
 * Node.js core then limits reads, and PostgreSQL mostly limits writes. With more cores, PostgreSQL gets the rest. Returns
 * `undefined` for a single core.
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

/** Moves a running process with its threads and children to other cores. Later children start there too. */
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
