type Close = () => Promise<void>

/** The open resources in the order of their opening. */
const open = new Set<Close>()

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, closeAll)

/**
 * Closes a resource before SIGINT or SIGTERM ends this process, the newest first. Otherwise programs in their own process groups
 * would continue. A program with its own signal handlers is not affected.
 * @returns a function that cancels the registration after the resource is closed
 */
export function closeAtSignal(close: Close): () => void {
  open.add(close)
  return () => open.delete(close)
}

async function closeAll(signal: NodeJS.Signals): Promise<void> {
  if (process.listenerCount(signal) > 0) return
  // Closing makes the program fail, but it must not end before everything is closed.
  process.on('uncaughtException', () => {})
  for (const close of [...open].reverse()) await close().catch(() => {})
  process.exit(1)
}
