import { z } from 'zod'
import { CredentialOptions, type Passkey } from './credential.ts'
import type { PasskeyQuestion } from './passkey-repository.ts'

const Timestamp = z.string().meta({ format: 'date-time' })

/** A passkey as its owner sees it (reference: Passkeys). */
export const PasskeyView = z
  .object({
    id: z.guid(),
    friendly_name: z.string(),
    created_at: Timestamp,
    last_used_at: Timestamp.optional(),
  })
  .meta({ id: 'Passkey' })

/** The form in which clients see a passkey. `last_used_at` is absent until the passkey has signed in. */
export function viewPasskey(passkey: Passkey): z.output<typeof PasskeyView> {
  const { id, friendlyName, createdAt, lastUsedAt } = passkey
  const view = { id, friendly_name: friendlyName, created_at: createdAt }
  return lastUsedAt === null ? view : { ...view, last_used_at: lastUsedAt }
}

/** A challenge of a passkey, as a client gets it. */
export const PasskeyQuestionView = z.object({
  challenge_id: z.guid(),
  options: CredentialOptions,
  expires_at: z.int().meta({ description: 'When the challenge expires, in seconds since 1970' }),
})

/** The form in which clients see a challenge. Its end is in whole epoch seconds, rounded down. */
export function viewPasskeyQuestion(question: PasskeyQuestion): z.output<typeof PasskeyQuestionView> {
  const { id, options, expiresAt } = question
  return { challenge_id: id, options, expires_at: Math.floor(expiresAt.getTime() / 1_000) }
}
