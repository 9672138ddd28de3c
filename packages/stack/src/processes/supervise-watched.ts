import { StackFailure } from '../stack-failure.ts'
import { type Child, reasonOf } from './child.ts'
import type { EndStep } from './end-process.ts'
import type { Supervised } from './supervise.ts'

/** How to restart a service whenever its sources change. */
export interface WatchedOptions {
  /** Starts the service again. */
  readonly start: () => Promise<Child>
  /** Resolves when the service is ready. Rejects with a StackFailure when it has ended, or is late. */
  readonly waitUntilReady: (child: Child) => Promise<void>
  readonly endSteps: readonly EndStep[]
  readonly say: (line: string) => void
}

/** A service that restarts at each change until `end`. */
export interface WatchedService extends Supervised {
  /** Takes note of changed files. */
  readonly change: (files: readonly string[]) => void
  /** Never resolves, and rejects only when the program cannot be run. */
  readonly failed: Promise<never>
}

/**
 * Restarts a service at each change. Returns how to end it, and what tells it of changes. A service that ends by itself waits
 * for the next change, because it would only end again. The function prints each restart and each end. Why a service has ended
 * is in its log, which the terminal shows anyway.
 */
export function superviseWatched(first: Child, options: WatchedOptions): WatchedService {
  const { start, waitUntilReady, endSteps, say } = options
  const changes = createChanges()
  let child = first
  let isDown = false
  let isEnding = false
  const report = (problem: string): void => {
    isDown = true
    say(problem)
    say(`${child.name} starts again when a file changes`)
  }
  const restart = async (files: readonly string[]): Promise<void> => {
    isDown = false
    const begunMs = performance.now()
    say(`${child.name} restarts: ${namesOf(files)} changed`)
    await child.end(endSteps)
    if (isEnding) return
    child = await start()
    try {
      await waitUntilReady(child)
      say(`${child.name} is ready again after ${((performance.now() - begunMs) / 1_000).toFixed(1)} s`)
    } catch (error) {
      if (!(error instanceof StackFailure)) return
      report(error.problems[0] ?? '')
    }
  }
  const keepRunning = async (): Promise<void> => {
    for (;;) {
      const end = isDown ? undefined : await Promise.race([changes.next(), child.ended])
      if (end && !isEnding && !changes.isWaiting()) report(`${child.name} has ended (${reasonOf(end)})`)
      await changes.next()
      if (isEnding) return
      await restart(changes.take())
    }
  }
  const running = keepRunning()
  const failed = running.then(() => new Promise<never>(() => undefined))
  // The caller awaits it only when everything is up. Until then a failure must not count as unhandled.
  failed.catch(() => undefined)
  return {
    change: (files: readonly string[]): void => changes.add(files),
    failed,
    end: async (): Promise<void> => {
      isEnding = true
      changes.add([])
      await child.end(endSteps)
      await running.catch(() => undefined)
      // A restart was under way, and has started another process.
      await child.end(endSteps)
    },
  }
}

function namesOf([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

/** Changed files that wait for a restart. */
function createChanges() {
  const files = new Set<string>()
  let come = Promise.withResolvers<void>()
  return {
    add: (more: readonly string[]): void => {
      for (const file of more) files.add(file)
      come.resolve()
    },
    isWaiting: (): boolean => files.size > 0,
    /** Resolves when a file waits. */
    next: (): Promise<void> => come.promise,
    take: (): readonly string[] => {
      const taken = [...files]
      files.clear()
      come = Promise.withResolvers<void>()
      return taken
    },
  }
}
