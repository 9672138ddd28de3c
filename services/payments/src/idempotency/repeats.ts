import type { Caller } from '../access/caller.ts'
import { conflict } from '../errors.ts'

/** Requests with an Idempotency-Key that this process is working on. */
export interface Repeats {
  /**
   * Makes a call, once no other of the same client with the same key and body is under way in this process. What a finished
   * one has left is then found by the call itself, which judges access anew: an answer is never handed on.
   * @throws 409 when the other is not finished within 5 s
   */
  run<Result>(caller: Caller, call: () => Promise<Result>): Promise<Result>
}

const WAIT_MS = 5_000

export function createRepeats(waitMs = WAIT_MS): Repeats {
  /** Each resolves at the end of its call, to whether its effect is there to be found. */
  const running = new Map<string, Promise<boolean>>()
  return {
    run: async (caller, call) => {
      const name = nameOf(caller)
      if (name === undefined) return call()
      const late = lateAfter(waitMs)
      try {
        for (let other = running.get(name); other !== undefined; other = running.get(name)) {
          // Whoever waited for an effect goes on beside the others; after a failure they take turns.
          if (await Promise.race([other, late.promise])) return await call()
        }
      } finally {
        late.cancel()
      }
      // Nothing is awaited from the last look until the entry: of two that waited, one goes first.
      const result = call()
      const ended = result.then(
        () => true,
        () => false,
      )
      running.set(name, ended)
      void ended.then(() => running.delete(name))
      return result
    },
  }
}

function nameOf({ keyMac, person, repeat }: Caller): string | undefined {
  if (!repeat) return undefined
  const { method, path, key, fingerprint } = repeat
  return JSON.stringify([keyMac?.toString('base64'), person, method, path, key, fingerprint.toString('base64')])
}

function lateAfter(ms: number): { readonly promise: Promise<never>; readonly cancel: () => void } {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(conflict()), ms)
  promise.catch(() => {})
  return { promise, cancel: () => clearTimeout(timer) }
}
