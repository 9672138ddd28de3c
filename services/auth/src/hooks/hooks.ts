import { AsyncLocalStorage } from 'node:async_hooks'
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { AddressRefused, AnswerNotUtf8, type Outbound, type OutboundAnswer } from '@trestle/common/outbound/outbound.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { HookConfig, HookName, HooksConfig } from '../config/hooks.ts'
import {
  hookAnswerNoJson,
  hookAnswerTooLong,
  hookFailed,
  hookRejected,
  hookTimeout,
  hookTimeoutAfterRetry,
} from '../external-errors.ts'
import { upstreamForm } from '../records/timestamp.ts'

/** The operator's server that this service calls over HTTP (reference: Hooks). */
export interface Hooks {
  isOn(name: HookName): boolean
  /** Whether the request itself calls an enabled hook. Otherwise a job or a later request calls it. */
  isInRequest(name: HookName): boolean
  /** Calls an enabled hook. Do not call it in a database transaction, because an answer may take five seconds. */
  call(name: HookName, payload: object): Promise<HookAnswer>
  /** Runs the work of a request. Hooks called during it receive the address of its client. */
  during(ip: string, run: () => void): void
}

interface HookDeps {
  readonly outbound: Pick<Outbound, 'send'>
  readonly now: () => Date
  readonly logger: ServiceLogger['logger']
  readonly compatibility: Pick<
    CompatibilityOptions,
    | keyof AnswerOptions
    | 'sendMetadataToAllHooks'
    | 'callMessageHooks'
    | 'callUserHooks'
    | 'endTimesInZ'
    | 'showSignInOfOwnIdentities'
  >
}

/** The names of hooks in their metadata, as in supabase/auth. */
const METADATA_NAMES: Readonly<Record<HookName, string>> = {
  CUSTOM_ACCESS_TOKEN: 'customize-access-token',
  SEND_EMAIL: 'send-email',
  SEND_SMS: 'send-sms',
  MFA_VERIFICATION_ATTEMPT: 'mfa-verification',
  PASSWORD_VERIFICATION_ATTEMPT: 'password-verification',
  BEFORE_USER_CREATED: 'before-user-created',
  AFTER_USER_CREATED: 'after-user-created',
}

/** The time limit of one call, with all its attempts. */
const TOTAL_MS = 5_000
const ATTEMPTS_MAX = 3
const PAUSE_MS = 200

/**
 * Creates the hooks of a process. Calls are signed, and have three attempts in five seconds. The log of a refusal omits its
 * payload.
 */
export function createHooks(config: HooksConfig, deps: HookDeps): Hooks {
  const { sendMetadataToAllHooks, callMessageHooks, callUserHooks } = deps.compatibility
  const toForm = upstreamForm(deps.compatibility) ?? ((payload: unknown) => payload)
  // Hooks are called deep inside use cases. Most use cases do not need the address.
  const addresses = new AsyncLocalStorage<string>()
  const withMetadata = (name: HookName, payload: object): object => {
    const metadata = { uuid: randomUUID(), time: deps.now().toISOString(), name: METADATA_NAMES[name] }
    return { metadata: { ...metadata, ip_address: addresses.getStore() ?? '' }, ...payload }
  }
  return {
    during: (ip, run) => {
      if (sendMetadataToAllHooks && Object.keys(config).length > 0) addresses.run(ip, run)
      else run()
    },
    isOn: (name) => config[name] !== undefined,
    isInRequest: (name) => {
      const moment = name.endsWith('_USER_CREATED') ? callUserHooks : callMessageHooks
      return config[name] !== undefined && moment === 'in the request'
    },
    call: async (name, payload) => {
      const hook = config[name]
      if (!hook) throw new Error(`the hook ${name} is off`)
      try {
        const body = JSON.stringify(toForm(sendMetadataToAllHooks ? withMetadata(name, payload) : payload))
        return readHookAnswer(name, await deliver(deps, hook, body), deps.compatibility)
      } catch (error) {
        logRefusal(deps, name, error)
        throw error
      }
    },
  }
}

/** Logs codes and causes, but not the hook's own message, which is for the client and may identify the user. */
function logRefusal({ logger }: HookDeps, hook: HookName, error: unknown): void {
  const { code, cause } = error instanceof HttpError ? error : { code: 'failed', cause: error }
  logger.warn({ hook, code, reason: cause instanceof Error ? cause.message : undefined }, 'hook refused or failed')
}

/** Makes up to three attempts in five seconds. All have the same id, so that a hook can recognise a repetition. */
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
  // If nothing awaits this promise when it rejects, the unhandled rejection would end the process.
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
    if ('cause' in answer && (answer.cause instanceof AddressRefused || answer.cause instanceof AnswerNotUtf8)) {
      failHook(answer.cause)
    }
    if (!('cause' in answer) && !isRetryable(answer)) return answer
    if (attempt === ATTEMPTS_MAX) {
      throw hookTimeoutAfterRetry({ cause: 'cause' in answer ? answer.cause : new Error(`answered ${answer.status}`) })
    }
    await Promise.race([delay(PAUSE_MS * attempt), tooLate])
  }
}

interface SignedMessage {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/** Returns the headers of Standard Webhooks. With one of the keys, a receiver can verify the sender and age of a message. */
function signatureHeaders(keys: readonly Buffer[], { id, timestamp, body }: SignedMessage) {
  const signatures = keys.map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64'))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  }
}

/** The maximum size of an answer. */
const ANSWER_BYTES_MAX = 200 * 1_024

/** The JSON object in a hook's answer. Each caller checks the members that it needs. */
export type HookAnswer = Readonly<Record<string, unknown>>

/** The form of a hook's refusal, with any status. */
export const Refusal = z.object({ error: z.object({ http_code: z.int().optional(), message: z.string() }) })

/** The form of a refusal in a profile that ignores every other `error`. */
const LenientRefusal = z.object({ error: z.object({ http_code: z.int().nullish(), message: z.string().min(1) }) })

/** The claims that a token must still contain after the hook (reference: Hooks). */
export const CustomisedClaims = z.looseObject({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.int(),
  iat: z.int(),
  sub: z.string(),
  email: z.string(),
  phone: z.string(),
  role: z.string(),
  aal: z.string(),
  session_id: z.string(),
  is_anonymous: z.boolean(),
})
/** The answer of the hook CUSTOM_ACCESS_TOKEN. It contains all claims of the token. */
export const ClaimsAnswer = z.object({ claims: CustomisedClaims })

const Decision = z.enum(['continue', 'reject'])
/** The answer of the hooks for attempts. Only PASSWORD_VERIFICATION_ATTEMPT uses `should_logout_user`. */
export const AttemptVerdict = z.object({
  decision: Decision,
  message: z.string().optional(),
  should_logout_user: z.boolean().optional(),
})

/** The same answer in a profile where every decision except `reject` is consent. */
export const LenientVerdict = AttemptVerdict.extend({
  decision: z
    .string()
    .nullish()
    .transform((decision) => (decision === 'reject' ? decision : 'continue')),
})

/** Whether the hook's status requests another attempt. */
function isRetryable({ status }: Pick<OutboundAnswer, 'status'>): boolean {
  return status === 429 || status === 503
}

/** Hooks whose answer is empty unless they refuse. */
const SILENT: readonly HookName[] = ['SEND_EMAIL', 'SEND_SMS', 'BEFORE_USER_CREATED', 'AFTER_USER_CREATED']

type AnswerOptions = Pick<CompatibilityOptions, 'hookRefusalCode' | 'ignoreUnknownHookAnswers'>

/**
 * Reads the answer of a hook (reference: Hooks). An empty body is an empty object. An answer with a wrong form must not count as
 * consent, so it fails, unless the profile ignores such answers.
 */
export function readHookAnswer(
  name: HookName,
  { status, body, contentType }: OutboundAnswer,
  { hookRefusalCode, ignoreUnknownHookAnswers: isLenient }: AnswerOptions,
): HookAnswer {
  if (Buffer.byteLength(body) > ANSWER_BYTES_MAX) throw hookAnswerTooLong()
  const answer = body === '' ? {} : parse(body, contentType)
  if (answer === null && !isLenient) failHook(new Error('the hook answers no JSON object'))
  const members = answer ?? {}
  const refused = (isLenient ? LenientRefusal : Refusal).safeParse(members)
  if (refused.success) refuse(refused.data.error, hookRefusalCode)
  if ((status < 200 || status > 202) && status !== 204) failHook(new Error(`the hook answered ${status}`))
  if (!isLenient) refuseUnknown(name, members)
  return members
}

/** `error: null` is not an error, because some serializers write it. */
function refuseUnknown(name: HookName, { error = null, ...others }: HookAnswer): void {
  if (error !== null) failHook(new Error('the hook answers an error that is no refusal'))
  if (SILENT.includes(name) && Object.keys(others).length > 0) failHook(new Error('the hook has to answer nothing'))
}

function parse(body: string, contentType: string): HookAnswer | null {
  if (!/^application\/json\b/i.test(contentType)) throw hookAnswerNoJson()
  try {
    return z.record(z.string(), z.unknown()).nullable().parse(JSON.parse(body))
  } catch {
    // The parser's own message quotes the body, which must not be logged.
    failHook(new Error('the hook answers no JSON object'))
  }
}

/** A hook refuses with a client error. Any other status means that the hook itself has failed. */
function refuse(
  { http_code, message }: z.output<typeof LenientRefusal>['error'],
  code: AnswerOptions['hookRefusalCode'],
): never {
  const status = http_code ?? 500
  if (status < 400 || status > 499) failHook(new Error(`the hook reports ${status}`))
  throw hookRejected({ status, message, code })
}

/** Parses the members of an answer by a schema. A failure names the wrong member for the log. */
export function requireHookAnswer<Output>(
  schema: { safeParse(value: unknown): { success: true; data: Output } | { success: false; error: unknown } },
  answer: HookAnswer,
): Output {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  return failHook(parsed.error)
}

/** Ends a failed call of a hook. The cause goes only to the log, not to the client. */
export function failHook(cause: unknown): never {
  throw hookFailed({ cause })
}
