/** Runs work of a key when it is its turn, and answers what it answers. */
export type InTurn = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

/** Lets so much work of one key run at once; what is more waits in line. */
export function createTurns(atOnce: number): InTurn {
  const lines = new Map<string, { running: number; readonly waiting: (() => void)[] }>()
  return async (key, work) => {
    const line = lines.get(key) ?? { running: 0, waiting: [] }
    lines.set(key, line)
    if (line.running < atOnce) line.running++
    else await new Promise<void>((resolve) => line.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = line.waiting.shift()
      if (next) next()
      else if (--line.running === 0) lines.delete(key)
    }
  }
}
