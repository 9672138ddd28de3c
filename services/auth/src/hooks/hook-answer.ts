import type { OutboundAnswer } from '@trestle/common/outbound/outbound.ts'
import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import { hookAnswerNoJson, hookAnswerTooLong, hookFailed, hookRejected } from '../external-errors.ts'

/** The longest answer that is read. */
export const ANSWER_BYTES_MAX = 200 * 1_024

/** The JSON object that a hook answers. Each caller checks the members that it reads. */
export type HookAnswer = Readonly<Record<string, unknown>>

/** How a hook refuses, whatever the status of its answer. */
export const Refusal = z.object({ error: z.object({ http_code: z.int().optional(), message: z.string() }) })

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
    .optional()
    .transform((decision) => (decision === 'reject' ? decision : 'continue')),
})

/** Whether a hook asks for another attempt. */
export function isRetryable({ status }: Pick<OutboundAnswer, 'status'>): boolean {
  return status === 429 || status === 503
}

/** The code of a refusal. */
type RefusalCode = Behaviours['hookRefusalCode']

/**
 * Reads the answer of a hook (reference: Hooks). An empty body is an empty object.
 * @throws hookAnswerTooLong, hookAnswerNoJson, what `failHook` throws, hookRejected when the hook refuses
 */
export function readHookAnswer({ status, body, contentType }: OutboundAnswer, refusalCode: RefusalCode): HookAnswer {
  if (Buffer.byteLength(body) > ANSWER_BYTES_MAX) throw hookAnswerTooLong()
  const answer = body === '' ? {} : parse(body, contentType)
  const refused = Refusal.safeParse(answer)
  if (refused.success) refuse(refused.data.error, refusalCode)
  if ((status < 200 || status > 202) && status !== 204) failHook(new Error(`the hook answered ${status}`))
  return answer
}

function parse(body: string, contentType: string): HookAnswer {
  if (!/^application\/json\b/i.test(contentType)) throw hookAnswerNoJson()
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(body))
  } catch {
    // The parser's own message quotes the body, which must not reach the log.
    failHook(new Error('the hook answers no JSON object'))
  }
}

/** A hook refuses with a client error. Any other status is a failure of the hook itself. */
function refuse({ http_code: status = 500, message }: z.output<typeof Refusal>['error'], code: RefusalCode): never {
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
