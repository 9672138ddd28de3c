import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { AddressRefused, type Outbound, type OutboundAnswer } from '@trestle/common/outbound/outbound.ts'
import type { HookConfig, HookName, HooksConfig } from '../config/hooks.ts'
import type { AuthDeps } from '../deps.ts'
import { hookFailed, hookTimeout, hookTimeoutAfterRetry } from '../hook-errors.ts'
import { ANSWER_BYTES_MAX, type HookAnswer, isRetryable, readHookAnswer } from './hook-answer.ts'
import { signatureHeaders } from './signature.ts'

/** The operator's own server, asked over HTTP (reference: Hooks). */
export interface Hooks {
  isOn(name: HookName): boolean
  /**
   * Asks a hook that is on. No connection of the database is held meanwhile.
   * @throws what the hook refuses with, or an error that says how it could not be asked
   */
  call(name: HookName, payload: object): Promise<HookAnswer>
}

interface HookDeps {
  readonly outbound: Pick<Outbound, 'send'>
  readonly now: () => Date
  readonly logger: AuthDeps['logger']
}

/** For one call, whatever it takes. */
const TOTAL_MS = 5_000
const ATTEMPTS = 3
const PAUSE_MS = 200

export function createHooks(config: HooksConfig, deps: HookDeps): Hooks {
  return {
    isOn: (name) => config[name] !== undefined,
    call: async (name, payload) => {
      const hook = config[name]
      if (!hook) throw new Error(`the hook ${name} is off`)
      try {
        return readHookAnswer(await deliver(deps, hook, JSON.stringify(payload)))
      } catch (error) {
        logRefusal(deps, name, error)
        throw error
      }
    },
  }
}

/** A hook's own words may name the user: they are for the client, and stay out of the log. */
function logRefusal({ logger }: HookDeps, hook: HookName, error: unknown): void {
  const { code, cause } = error instanceof HttpError ? error : { code: 'failed', cause: error }
  logger.warn({ hook, code, reason: cause instanceof Error ? cause.message : undefined }, 'hook refused or failed')
}

/** Three tries in five seconds. All have one id, so that a hook can tell that it has seen the message. */
async function deliver(deps: HookDeps, { url, keys }: HookConfig, body: string): Promise<OutboundAnswer> {
  const timestamp = Math.floor(deps.now().getTime() / 1_000)
  const headers = {
    ...signatureHeaders(keys, { id: randomUUID(), timestamp, body }),
    'content-type': 'application/json',
  }
  const end = AbortSignal.timeout(TOTAL_MS)
  const tooLate = once(end, 'abort').then(() => {
    throw hookTimeout()
  })
  // What is not waited for any more must not end the process.
  tooLate.catch(() => {})
  for (let attempt = 1; ; attempt += 1) {
    const sent = deps.outbound.send({
      method: 'POST',
      url,
      headers,
      body,
      timeoutMs: TOTAL_MS,
      bytesMax: ANSWER_BYTES_MAX + 1,
      beyondMax: 'cut',
      origin: 'operator',
    })
    const answer = await Promise.race([sent.catch((cause: unknown) => ({ cause })), tooLate])
    if ('cause' in answer && answer.cause instanceof AddressRefused) throw hookFailed({ cause: answer.cause })
    if (!('cause' in answer) && !isRetryable(answer)) return answer
    if (attempt === ATTEMPTS) {
      throw hookTimeoutAfterRetry({ cause: 'cause' in answer ? answer.cause : new Error(`answered ${answer.status}`) })
    }
    await Promise.race([delay(PAUSE_MS * attempt), tooLate])
  }
}

/** What a hook has answered, in the form that its caller wants. @throws hookFailed */
export function requireHookAnswer<Output>(
  schema: { safeParse(value: unknown): { success: true; data: Output } | { success: false; error: unknown } },
  answer: HookAnswer,
): Output {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  throw hookFailed({ cause: parsed.error })
}
