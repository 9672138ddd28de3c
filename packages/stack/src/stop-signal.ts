const PARENT_POLL_MS = 500

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP. Further ones change nothing: a Ctrl-C comes twice, from the terminal
 * and from npm, and stopping takes five seconds at most. Under npm it also aborts when the starting process has gone,
 * since not every shell between npm and us passes signals on.
 */
export function watchStopSignals(isUnderNpm: boolean): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort())
  if (isUnderNpm) {
    const parent = process.ppid
    const timer = setInterval(() => {
      if (process.ppid !== parent) controller.abort()
    }, PARENT_POLL_MS)
    timer.unref()
  }
  return controller.signal
}
