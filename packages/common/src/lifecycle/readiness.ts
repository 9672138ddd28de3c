import type { Meter } from '@opentelemetry/api'
import type { HttpError } from '../errors/define-error.ts'

/** Whether a process should get requests. The state changes from `starting` to `ready` to `draining`, and never back. */
export interface Readiness {
  readonly markReady: () => void
  readonly drain: () => void
  /** The state or failing check, or `undefined` if the process is ready. Check results are up to a second old. */
  readonly missing: () => Promise<Missing | undefined>
  /** Returns whether each check passes, by name. The entry `process` says whether the process has started and is not draining. */
  readonly report: () => Promise<Readonly<Record<string, boolean>>>
}

/** The checks that must pass, by name: `{ mail: () => mail.ping() }`. A failing check throws. */
type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>

/** The time after which a running check counts as failed, in milliseconds. */
const CHECK_MS = 2_000
/** How long a check result is reused, in milliseconds, because anybody may call `GET /ready` at any rate. */
const OUTCOME_MS = 1_000

/** The reason why a process should not get requests: its own state, or the failing check. */
export type Missing = { readonly state: 'starting' | 'draining' } | { readonly check: string }

/** Returns the readiness of a process. The process is not ready until `markReady` is called. */
export function createReadiness(checks: ReadinessChecks): Readiness {
  let state: 'starting' | 'ready' | 'draining' = 'starting'
  const asked = Object.entries(checks).map(([name, check]) => [name, shareOutcome(() => passes(check))] as const)
  return {
    markReady: (): void => {
      if (state === 'starting') state = 'ready'
    },
    drain: (): void => {
      state = 'draining'
    },
    missing: async (): Promise<Missing | undefined> => {
      if (state !== 'ready') return { state }
      for (const [name, isInOrder] of asked) {
        if (!(await isInOrder())) return { check: name }
      }
      return undefined
    },
    report: async (): Promise<Readonly<Record<string, boolean>>> => {
      const entries = asked.map(async ([name, isInOrder]) => [name, await isInOrder()] as const)
      return { process: state === 'ready', ...Object.fromEntries(await Promise.all(entries)) }
    },
  }
}

/** Runs the check once for all callers, and reuses the result for a second. */
function shareOutcome(findOut: () => Promise<boolean>): () => Promise<boolean> {
  let outcome: Promise<boolean> | undefined
  const forget = (): void => {
    outcome = undefined
  }
  return () => {
    outcome ??= findOut().finally(() => setTimeout(forget, OUTCOME_MS).unref())
    return outcome
  }
}

async function passes(check: () => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_MS)
  })
  try {
    return await Promise.race([check().then(() => true), late])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Responds to `GET /ready` with 200 if the process should get requests.
 * @throws the error of `unavailable`, with the failing check
 */
export async function answerReady(
  readiness: Pick<Readiness, 'missing'>,
  unavailable: (missing: Missing) => HttpError,
): Promise<{ readonly status: 'ready' }> {
  const missing = await readiness.missing()
  if (missing !== undefined) throw unavailable(missing)
  return { status: 'ready' }
}

/** Reports the checks of `GET /ready` as the metric `service_ready{check}`: 1 for a check that passes. */
export function observeReadiness(meter: Meter, readiness: Pick<Readiness, 'report'>): void {
  const gauge = meter.createObservableGauge('service_ready', {
    description: '1 for each part of being ready for requests that is in order',
  })
  gauge.addCallback(async (result) => {
    for (const [check, isInOrder] of Object.entries(await readiness.report())) {
      result.observe(isInOrder ? 1 : 0, { check })
    }
  })
}

/** `ok`, or a short text about the problem. */
export type Health = string

/** How long a dependency may take to respond, in milliseconds: more than it needs, less than a request lasts. */
const PATIENCE_MS = 3_000

/**
 * Checks a dependency of the process, such as a mail server, for a page that shows the health.
 * @param ask rejects if the dependency does not work, which is assumed after `patienceMs` milliseconds
 * @returns `ok`, or the problem
 */
export async function askHealth(
  ask: () => Promise<unknown>,
  problem: string,
  patienceMs: number = PATIENCE_MS,
): Promise<Health> {
  const late = Promise.withResolvers<Health>()
  const timer = setTimeout(() => late.resolve(problem), patienceMs)
  const answer = ask().then(
    () => 'ok',
    () => problem,
  )
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}
