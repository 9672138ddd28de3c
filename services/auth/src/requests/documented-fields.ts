import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { EMAIL, EMAIL_LENGTH_MAX } from './identifier.ts'

// Members of requests, as the API document describes them. A schema takes any text: the code below it checks the text, and
// chooses the error that clients of GoTrue know. Empty texts count as absent.

/** The members that a request needs, for the API document alone. */
export const needs = (...required: readonly string[]): Readonly<Record<string, unknown>> => ({ required })

/** A text that a request may only leave empty, for the API document alone. */
export const ABSENT_TEXT = { type: ['string', 'null'], maxLength: 0 }

/** One of the forms of a body, for the API document alone. */
interface DocumentedForm {
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
}

/**
 * A form of a body by its texts, for the API document alone.
 * @param needed the texts that a body of this form has
 * @param refused the texts that it may not have
 */
export function withTexts(needed: readonly string[], refused: readonly string[] = []): DocumentedForm {
  const members = [
    ...needed.map((name) => [name, { type: 'string', minLength: 1 }] as const),
    ...refused.map((name) => [name, ABSENT_TEXT] as const),
  ]
  return { required: needed, properties: Object.fromEntries(members) }
}

/** An email address that a request may leave empty. */
export const emailField = z
  .string()
  .optional()
  .meta({
    pattern: `^$|${EMAIL.source}`,
    maxLength: EMAIL_LENGTH_MAX,
    example: 'ada@example.com',
    description: 'An email address',
  })

/** An email address in a form of a body that needs one, for the API document alone. */
export const EMAIL_ADDRESS = { type: 'string', pattern: EMAIL.source, maxLength: EMAIL_LENGTH_MAX }

export const neededEmailField = z
  .string()
  .optional()
  .meta({ ...EMAIL_ADDRESS, example: 'ada@example.com' })

const PHONE_PATTERN = '^\\+?[1-9][0-9]{1,14}$'

/** A phone number in a form of a body that needs one, for the API document alone. */
export const PHONE = { type: 'string', pattern: PHONE_PATTERN }

/** A phone number that a request may leave empty. */
export const phoneField = z
  .string()
  .optional()
  .meta({
    pattern: `^$|${PHONE_PATTERN}`,
    example: '+4520123456',
    description: 'A phone number with the code of its country',
  })

/** A form of a body that needs a member, and only some values of it: `form` with the member. For the API document alone. */
export function withValues(
  name: string,
  values: readonly string[],
  form: DocumentedForm = withTexts([]),
): DocumentedForm {
  const { required, properties } = form
  return { required: [name, ...required], properties: { ...properties, [name]: { enum: values } } }
}

const NEW_PASSWORD = { type: 'string', minLength: 6, maxLength: 72 }

/** A form that needs a new password too, for the API document alone. The settings may ask for a longer one. */
export function withNewPassword({ required, properties }: DocumentedForm): DocumentedForm {
  return { required: [...required, 'password'], properties: { ...properties, password: NEW_PASSWORD } }
}

/** A new password that a request may leave empty. */
export const passwordField = z
  .string()
  .optional()
  .meta({
    anyOf: [{ minLength: NEW_PASSWORD.minLength }, { maxLength: 0 }],
    maxLength: NEW_PASSWORD.maxLength,
    example: 'correct horse battery staple',
  })

const CHANNELS = ['sms', 'whatsapp', '']

export const channelField = z
  .string()
  .optional()
  .meta({ enum: CHANNELS, description: 'How a phone gets the code; sms by default' })

/** How a phone gets a code, in a body that may have no phone. Without a phone the channel is ignored, so any text is valid. */
export const freeChannelField = z
  .string()
  .optional()
  .meta({ description: 'How a phone gets the code: sms or whatsapp; sms by default' })

/** A form of a body whose phone gets a code by a channel that is known, for the API document alone. */
export function withChannel({ required, properties }: DocumentedForm): DocumentedForm {
  return { required, properties: { ...properties, channel: { enum: [...CHANNELS, null] } } }
}

export const idField = z.string().meta({ format: 'uuid' })

/** The answer to a captcha, where AUTH_SECURITY_CAPTCHA_ENABLED is on. Elsewhere nothing of it is read. */
export const captchaFields = {
  gotrue_meta_security: z
    .unknown()
    .optional()
    .meta({
      description: 'The answer to a captcha, where the service asks for one: an object',
      properties: { captcha_token: { description: 'The token of the captcha' } },
      example: { captcha_token: 'the token of the captcha' },
    }),
}

/** The time from which on something is ended: RFC 3339 with an offset. */
export const SinceField = z.iso
  .datetime({ offset: true, error: FIELD_TEXTS.time })
  .meta({ example: '2026-01-02T03:04:05Z' })
