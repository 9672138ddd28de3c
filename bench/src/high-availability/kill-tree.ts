import { readdirSync, readFileSync } from 'node:fs'

/**
 * SIGKILL to processes and all that descend from them, as a machine that loses power ends all of them at once: they are
 * stopped first, so that none goes on for a moment without its parent.
 */
export function killTree(roots: readonly number[]): void {
  const all = roots.flatMap((root) => [root, ...descendantsOf(root)])
  for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of all) send(pid, signal)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}

function descendantsOf(pid: number): readonly number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const below = (id: number): readonly number[] =>
    [...parents].filter(([, parent]) => parent === id).flatMap(([child]) => [child, ...below(child)])
  return below(pid)
}

function parentOf(pid: string): number | undefined {
  try {
    // The name in parentheses may hold spaces; the parent is the second field behind it.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
  } catch {
    return undefined
  }
}
