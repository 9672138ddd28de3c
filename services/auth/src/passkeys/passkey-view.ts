import { z } from 'zod'
import { credentialOptionsSchema } from './credential.ts'
import type { Passkey } from './passkey.ts'
import type { PasskeyQuestion } from './passkey-challenge-repository.ts'

const timestamp = z.string().meta({ format: 'date-time' })

/** A passkey as its owner sees it (reference: Passkeys). */
export const passkeySchema = z.object({
  id: z.guid(),
  friendly_name: z.string(),
  created_at: timestamp,
  last_used_at: timestamp.optional(),
})

/** The form in which clients see a passkey. `last_used_at` is absent until the passkey has signed in. */
export function viewPasskey(passkey: Passkey): z.output<typeof passkeySchema> {
  const { id, friendlyName, createdAt, lastUsedAt } = passkey
  const view = { id, friendly_name: friendlyName, created_at: createdAt }
  return lastUsedAt === null ? view : { ...view, last_used_at: lastUsedAt }
}

/** A challenge of a passkey, as a client gets it. */
export const passkeyQuestionSchema = z.object({
  challenge_id: z.guid(),
  options: credentialOptionsSchema,
  expires_at: z.int().meta({ description: 'epoch seconds' }),
})

/** The form in which clients see a challenge. Its end is in whole epoch seconds, rounded down. */
export function viewPasskeyQuestion(question: PasskeyQuestion): z.output<typeof passkeyQuestionSchema> {
  const { id, options, expiresAt } = question
  return { challenge_id: id, options, expires_at: Math.floor(expiresAt.getTime() / 1_000) }
}
