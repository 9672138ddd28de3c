import type { Json } from '@trestle/common/documents/complete-document.ts'
import { z } from 'zod'
import type { HookName } from './config/hooks.ts'
import { AttemptVerdict, ClaimsAnswer, CustomisedClaims, Refusal } from './hooks/hooks.ts'
import { UserView } from './users/user-view.ts'

const Id = z.guid()
const Empty = z.object({})
const Metadata = (name: string) =>
  z.strictObject({
    uuid: Id.meta({ description: 'The name of the call. A call that is tried again has the same' }),
    time: z.iso.datetime(),
    name: z.literal(name),
    ip_address: z.string().meta({ description: 'The address of the client; empty where none is known' }),
  })
/** Members that are sent only in the profile supabase. */
const sentBySupabase = (name: string) => ({ metadata: Metadata(name).optional() })
const NewUser = (name: string) => z.strictObject({ metadata: Metadata(name), user: UserView })

/** The payload of each hook, and the response if the hook does not refuse (reference: Hooks). */
export const hookMessages = {
  CUSTOM_ACCESS_TOKEN: {
    summary: 'Write the claims of an access token',
    payload: z.strictObject({
      ...sentBySupabase('customize-access-token'),
      user_id: Id,
      claims: CustomisedClaims,
      authentication_method: z.string().meta({ description: 'How the client got the token', example: 'password' }),
    }),
    answer: ClaimsAnswer,
  },
  SEND_EMAIL: {
    summary: 'Send a mail',
    payload: z.strictObject({
      ...sentBySupabase('send-email'),
      user: UserView,
      email_data: z.strictObject({
        email_action_type: z.string().meta({ description: 'The kind of the mail', example: 'signup' }),
        to: z.string().optional().meta({ description: 'Not in the profile supabase, as `new_email` and `phone`' }),
        token: z.string().optional().meta({ description: 'The code' }),
        token_hash: z.string().optional().meta({ description: 'The token of the link' }),
        token_new: z
          .string()
          .optional()
          .meta({ description: 'In the profile supabase: of a change of email, the code of the new address' }),
        token_hash_new: z.string().optional().meta({ description: 'The token of the link for the present address' }),
        redirect_to: z.string().optional(),
        site_url: z.string().optional(),
        new_email: z.string().optional(),
        old_email: z.string().optional(),
        phone: z.string().optional(),
        old_phone: z.string().optional(),
        provider: z.string().optional(),
        factor_type: z.string().optional(),
      }),
    }),
    answer: Empty,
  },
  SEND_SMS: {
    summary: 'Send an SMS',
    payload: z.strictObject({
      ...sentBySupabase('send-sms'),
      user: UserView,
      sms: z.strictObject({
        otp: z.string(),
        phone: z.string(),
        channel: z.enum(['sms', 'whatsapp']).optional().meta({ description: 'Not in the profile supabase' }),
        sms_type: z
          .literal('mfa')
          .optional()
          .meta({ description: 'In the profile supabase, of the code of a second factor' }),
        message: z.string().optional().meta({ description: 'Not in the profile supabase' }),
      }),
    }),
    answer: Empty,
  },
  MFA_VERIFICATION_ATTEMPT: {
    summary: 'Judge the check of a second factor',
    payload: z.strictObject({
      ...sentBySupabase('mfa-verification'),
      user_id: Id,
      factor_id: Id,
      factor_type: z.enum(['totp', 'phone', 'webauthn', 'recovery_code']),
      valid: z.boolean(),
    }),
    answer: AttemptVerdict.omit({ should_logout_user: true }),
  },
  PASSWORD_VERIFICATION_ATTEMPT: {
    summary: 'Judge the check of a password',
    payload: z.strictObject({ ...sentBySupabase('password-verification'), user_id: Id, valid: z.boolean() }),
    answer: AttemptVerdict,
  },
  BEFORE_USER_CREATED: {
    summary: 'Decide whether somebody may become a user',
    payload: NewUser('before-user-created'),
    answer: Empty,
  },
  AFTER_USER_CREATED: { summary: 'Hear of a new user', payload: NewUser('after-user-created'), answer: Empty },
} as const satisfies Readonly<Record<HookName, { summary: string; payload: z.ZodType; answer: z.ZodType }>>

/** The requests to hooks, by name, for the API document. */
export function describeHooks(): Json {
  return Object.fromEntries(
    Object.entries(hookMessages).map(([hook, { summary, payload, answer }]) => {
      const name = hook.toLowerCase().replaceAll('_', '-')
      return [name, { post: describeCall({ name, hook, summary }, payload, answer) }]
    }),
  )
}

interface HookNames {
  readonly name: string
  readonly hook: string
  readonly summary: string
}

function describeCall({ name, hook, summary }: HookNames, payload: z.ZodType, answer: z.ZodType): Json {
  return {
    operationId: `answer-${name}`,
    tags: ['Hooks'],
    summary,
    description: `The service sends this with AUTH_HOOK_${hook}_ENABLED.`,
    security: [],
    parameters: SIGNATURE_HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema: toSchema(payload) } } },
    responses: {
      200: {
        description: 'The answer, or a refusal',
        content: { 'application/json': { schema: { anyOf: [toSchema(answer), toSchema(Refusal)] } } },
      },
      429: { description: 'The service tries again, three times in all.' },
      503: { description: 'The service tries again, three times in all.' },
      default: { description: 'The hook failed, unless the body is a refusal.' },
    },
  }
}

const SIGNATURE_HEADERS = [
  ['webhook-id', 'The name of the call, the same in each of its tries', '0d3f6a1e-5a52-4b0e-9b1c-6f4b7c1d2e3f'],
  ['webhook-timestamp', 'When the call was made, in seconds since 1970', '1767323045'],
  [
    'webhook-signature',
    'HMAC-SHA-256 of id, time and body, joined by points, with each key of the hook (Standard Webhooks)',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
].map(([name, description, example]) => ({
  name,
  in: 'header',
  required: true,
  description,
  example,
  schema: { type: 'string' },
}))

const JsonObject = z.record(z.string(), z.unknown())

/** A JSON schema with references to the named schemas of the document. */
function toSchema(schema: z.ZodType): Json {
  const { $schema: _$schema, $defs: _$defs, ...jsonSchema } = z.toJSONSchema(schema, { io: 'output' })
  return JsonObject.parse(JSON.parse(JSON.stringify(jsonSchema).replaceAll('"#/$defs/', '"#/components/schemas/')))
}
