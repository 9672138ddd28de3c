type Close = () => Promise<void>

/** What is open, in the order in which it was opened. */
const open = new Set<Close>()

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, closeAll)

/**
 * Has something closed before SIGINT or SIGTERM ends this process, what was opened last first: programs in process groups of
 * their own would outlive it. Where a program listens to signals itself, it ends in its own way.
 *
 * @returns takes that back, for when it is closed
 */
export function closeAtSignal(close: Close): () => void {
  open.add(close)
  return () => open.delete(close)
}

async function closeAll(signal: NodeJS.Signals): Promise<void> {
  if (process.listenerCount(signal) > 0) return
  // The program misses what is closed under it, and must not end before all is.
  process.on('uncaughtException', () => {})
  for (const close of [...open].reverse()) await close().catch(() => {})
  process.exit(1)
}
