import type { Histogram, Meter } from '@opentelemetry/api'
import type { Acquirer, AuthorizationOutcome, AuthorizationRequest } from './acquirer.ts'

/** The acquirers of this installation. Test merchants use the simulator. An operator chooses the acquirer of a live merchant. */
export interface Acquirers {
  readonly names: readonly string[]
  /** Returns `undefined` if no acquirer with this name is configured any longer. The name `null` stands for the simulator. */
  readonly find: (name: string | null) => Acquirer | undefined
  /** Requests an authorization. The outcome is `unknown` if the acquirer does not answer within 10 s. */
  readonly authorize: (name: string | null, request: AuthorizationRequest) => Promise<AuthorizationOutcome>
}

/** The dependencies of `createAcquirers`. `others` contains the acquirers of the settings by name. The simulator has no name. */
export interface AcquirersOptions {
  readonly simulator: Acquirer
  readonly others: ReadonlyMap<string, Acquirer>
  readonly meter: Meter
  readonly logger: { warn(fields: object, message: string): void }
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
}

const BUDGET_MS = 10_000

/** Creates the access to all acquirers. It counts each authorization by its outcome and measures the duration of each call. */
export function createAcquirers({ simulator, others, meter, logger, wait }: AcquirersOptions): Acquirers {
  const authorizations = meter.createCounter('payments_authorizations_total', {
    description: 'Authorizations by outcome',
  })
  const seconds = meter.createHistogram('payments_acquirer_seconds', {
    description: 'Duration of calls to acquirers',
    unit: 's',
  })
  const own = measuredAcquirer('simulator', simulator, seconds)
  const byName = new Map([...others].map(([name, other]) => [name, measuredAcquirer(name, other, seconds)]))
  const names: readonly string[] = [...others.keys()]
  const find = (name: string | null): Acquirer | undefined => (name === null ? own : byName.get(name))
  return {
    names,
    find,
    authorize: async (name: string | null, request: AuthorizationRequest): Promise<AuthorizationOutcome> => {
      const patience = new AbortController()
      const late = wait(BUDGET_MS, patience.signal).then((): AuthorizationOutcome => ({ verdict: 'unknown' }))
      late.catch(() => {})
      const answer = find(name)?.authorize(request) ?? Promise.reject(new Error(`acquirer ${name} is not configured`))
      const outcome = await Promise.race([answer, late]).catch((error: unknown): AuthorizationOutcome => {
        logger.warn({ err: error, acquirer: name, attempt_id: request.idempotencyRef }, 'the acquirer did not answer')
        return { verdict: 'unknown' }
      })
      patience.abort()
      authorizations.add(1, { test: name === null, scheme: request.card.scheme ?? 'unknown', outcome: outcome.verdict })
      return outcome
    },
  }
}

/** Measures the duration of each call to an acquirer as `payments_acquirer_seconds{acquirer,call}`, including calls that fail. */
function measuredAcquirer(name: string, acquirer: Acquirer, seconds: Histogram): Acquirer {
  const measured =
    <Args extends readonly unknown[], Answer>(call: keyof Acquirer, ask: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const startMs = performance.now()
      try {
        return await ask(...args)
      } finally {
        seconds.record((performance.now() - startMs) / 1_000, { acquirer: name, call })
      }
    }
  return {
    authorize: measured('authorize', acquirer.authorize),
    inquire: measured('inquire', acquirer.inquire),
    reverse: measured('reverse', acquirer.reverse),
    submit: measured('submit', acquirer.submit),
    events: measured('events', acquirer.events),
    acknowledge: measured('acknowledge', acquirer.acknowledge),
  }
}
