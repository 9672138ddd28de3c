import type { OutboundAnswer } from '@trestle/common/outbound/outbound.ts'
import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import type { HookName } from '../config/hooks.ts'
import { hookAnswerNoJson, hookAnswerTooLong, hookFailed, hookRejected } from '../external-errors.ts'

/** The longest answer that is read. */
export const ANSWER_BYTES_MAX = 200 * 1_024

/** The JSON object that a hook answers. Each caller checks the members that it reads. */
export type HookAnswer = Readonly<Record<string, unknown>>

/** How a hook refuses, whatever the status of its answer. */
export const Refusal = z.object({ error: z.object({ http_code: z.int().optional(), message: z.string() }) })

/** How a hook refuses in a profile where any other `error` means nothing. */
const LenientRefusal = z.object({ error: z.object({ http_code: z.int().nullish(), message: z.string().min(1) }) })

/** The claims that a token must still have after the hook (reference: Hooks). */
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
/** The answer of the hook CUSTOM_ACCESS_TOKEN: the claims of the token, whole. */
export const ClaimsAnswer = z.object({ claims: CustomisedClaims })

const Decision = z.enum(['continue', 'reject'])
/** The answer of the hooks of attempts. `should_logout_user` is read only with PASSWORD_VERIFICATION_ATTEMPT. */
export const AttemptVerdict = z.object({
  decision: Decision,
  message: z.string().optional(),
  should_logout_user: z.boolean().optional(),
})

/** The answer of the hooks of attempts in a profile where a hook that does not say `reject` consents. */
export const LenientVerdict = AttemptVerdict.extend({
  decision: z
    .string()
    .nullish()
    .transform((decision) => (decision === 'reject' ? decision : 'continue')),
})

/** Whether a hook asks for another attempt. */
export function isRetryable({ status }: Pick<OutboundAnswer, 'status'>): boolean {
  return status === 429 || status === 503
}

/** Hooks that answer nothing, unless they refuse. */
const SILENT: readonly HookName[] = ['SEND_EMAIL', 'SEND_SMS', 'BEFORE_USER_CREATED', 'AFTER_USER_CREATED']

/** The behaviours that say what an answer means. */
export type AnswerBehaviours = Pick<Behaviours, 'hookRefusalCode' | 'ignoreUnknownHookAnswers'>

/**
 * Reads the answer of a hook (reference: Hooks). An empty body is an empty object. An answer that is neither in form nor a
 * refusal must not count as consent, so it fails, unless the profile ignores such answers.
 * @throws hookAnswerTooLong, hookAnswerNoJson, what `failHook` throws, hookRejected when the hook refuses
 */
export function readHookAnswer(
  name: HookName,
  { status, body, contentType }: OutboundAnswer,
  { hookRefusalCode, ignoreUnknownHookAnswers: isLenient }: AnswerBehaviours,
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

/** The error `null` is none: serializers write it. */
function refuseUnknown(name: HookName, { error = null, ...others }: HookAnswer): void {
  if (error !== null) failHook(new Error('the hook answers an error that is no refusal'))
  if (SILENT.includes(name) && Object.keys(others).length > 0) failHook(new Error('the hook has to answer nothing'))
}

function parse(body: string, contentType: string): HookAnswer | null {
  if (!/^application\/json\b/i.test(contentType)) throw hookAnswerNoJson()
  try {
    return z.record(z.string(), z.unknown()).nullable().parse(JSON.parse(body))
  } catch {
    // The parser's own message quotes the body, which must not reach the log.
    failHook(new Error('the hook answers no JSON object'))
  }
}

/** A hook refuses with a client error. Any other status is a failure of the hook itself. */
function refuse(
  { http_code, message }: z.output<typeof LenientRefusal>['error'],
  code: AnswerBehaviours['hookRefusalCode'],
): never {
  const status = http_code ?? 500
  if (status < 400 || status > 499) failHook(new Error(`the hook reports ${status}`))
  throw hookRejected({ status, message, code })
}

/** Reads the members of an answer by a schema. The failure tells the log which member is wrong. @throws hookFailed */
export function requireHookAnswer<Output>(
  schema: { safeParse(value: unknown): { success: true; data: Output } | { success: false; error: unknown } },
  answer: HookAnswer,
): Output {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  return failHook(parsed.error)
}

/** Ends the call of a hook that fails. The client learns nothing of the cause, which is for the log. @throws hookFailed */
export function failHook(cause: unknown): never {
  throw hookFailed({ cause })
}
