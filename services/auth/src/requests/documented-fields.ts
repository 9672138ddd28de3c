import { z } from 'zod'

// Members of requests, as the API document describes them. A schema takes any text: the code below it checks the text, and
// chooses the error that clients of GoTrue know. Empty texts count as absent.

/** Which members a request needs, for the API document alone. */
export const needs = (...required: readonly string[]): Readonly<Record<string, unknown>> => ({ required })

/** An email address. */
export const emailField = z.string().optional().meta({ format: 'email', maxLength: 255, example: 'ada@example.com' })

/** A phone number with the code of its country. */
export const phoneField = z.string().optional().meta({
  pattern: '^\\+?[1-9][0-9]{1,14}$',
  example: '+4520123456',
  description: 'A phone number with the code of its country',
})

/** A new password. The settings of the service may ask for more. */
export const passwordField = z
  .string()
  .optional()
  .meta({ minLength: 6, maxLength: 72, example: 'correct horse battery staple' })

/** How a phone gets a code. */
export const channelField = z
  .string()
  .optional()
  .meta({ enum: ['sms', 'whatsapp'], description: 'How a phone gets the code; sms by default' })

/** An id in a path. */
export const idField = z.string().meta({ format: 'uuid' })

/** The answer to a captcha, where AUTH_SECURITY_CAPTCHA_ENABLED is on. */
export const captchaFields = {
  gotrue_meta_security: z
    .unknown()
    .optional()
    .meta({
      description: 'The answer to a captcha, where the service asks for one',
      type: 'object',
      properties: { captcha_token: { type: 'string' } },
    }),
}
