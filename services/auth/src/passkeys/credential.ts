import type { ColumnType, Generated } from 'kysely'
import { z } from 'zod'
import { passkeyRefused, tooManyPasskeys } from '../factor-errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import type { GeneratedTimestamp, Timestamp, TimestampColumn } from '../records/timestamp.ts'

/** A stored public key credential. Bytes are base64url. */
export const StoredCredential = z.object({
  id: z.string(),
  /** The COSE key. */
  publicKey: z.string(),
  /** The number of signatures. 0 if the authenticator does not count. */
  counter: z.int(),
  transports: z.array(z.string()),
  /** Whether its authenticator may copy it to other devices. This never changes (WebAuthn, level 3, 6.1.3). */
  backupEligible: z.boolean(),
})

export type StoredCredential = z.output<typeof StoredCredential>

const Bytes = z.string().regex(/^[A-Za-z0-9_-]+={0,2}$/, { error: FIELD_TEXTS.base64url })
const credential = { id: Bytes, rawId: Bytes, type: z.literal('public-key') }

/** An authenticator's response with a new credential (RegistrationResponseJSON of WebAuthn, level 3). */
export const Registration = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: Bytes,
    attestationObject: Bytes,
    transports: z.array(z.string().max(32)).max(16).optional(),
  }),
})

/** An authenticator's response with a used credential (AuthenticationResponseJSON of WebAuthn, level 3). */
export const Assertion = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: Bytes,
    authenticatorData: Bytes,
    signature: Bytes,
    userHandle: z.string().nullish(),
  }),
})

/** An authenticator's response with a new credential, not yet verified. */
export type Registration = z.output<typeof Registration>

/** An authenticator's signature over a challenge, not yet verified. */
export type Assertion = z.output<typeof Assertion>

/** The options that a browser passes to an authenticator, in the form of WebAuthn. */
export const CredentialOptions = z.record(z.string(), z.unknown())

export type CredentialOptions = z.output<typeof CredentialOptions>

/** The row of a user's passkey. Bytes are base64url. */
export interface WebauthnCredentialsTable {
  id: Generated<string>
  user_id: string
  /** The session that registered the passkey, or `null` for a passkey of supabase/auth. */
  session_id: string | null
  credential_id: string
  public_key: string
  sign_count: bigint
  transports: ColumnType<readonly string[], string, string>
  backup_eligible: Generated<boolean>
  friendly_name: string
  last_used_at: TimestampColumn | null
  created_at: GeneratedTimestamp
  updated_at: GeneratedTimestamp
}

/** The challenge of a passkey. `user_id` and `session_id` are `null` for a sign-in. */
export interface WebauthnChallengesTable {
  id: string
  user_id: string | null
  session_id: string | null
  challenge: string
  expires_at: TimestampColumn
}

export interface Passkey {
  readonly id: string
  readonly userId: string
  readonly friendlyName: string
  readonly credential: StoredCredential
  readonly createdAt: Timestamp
  readonly lastUsedAt: Timestamp | null
}

/** A passkey challenge, and the time until which it can be answered. */
export interface PasskeyQuestion {
  readonly id: string
  readonly options: CredentialOptions
  readonly expiresAt: Date
}

/** Refuses a passkey response without a reason. */
export function refusePasskey(): never {
  throw passkeyRefused()
}

export function requireRoom(passkeys: readonly Passkey[], { passkeysMax }: { readonly passkeysMax: number }): void {
  if (passkeys.length >= passkeysMax) throw tooManyPasskeys()
}

const Moment = z.string().meta({ format: 'date-time' })

/** The JSON of a passkey for its owner (reference: Passkeys). */
export const PasskeyView = z
  .object({
    id: z.guid(),
    friendly_name: z.string(),
    created_at: Moment,
    last_used_at: Moment.optional(),
  })
  .meta({ id: 'Passkey' })

/** The JSON of a passkey. `last_used_at` is absent until the first sign-in with the passkey. */
export function viewPasskey(passkey: Passkey): z.output<typeof PasskeyView> {
  const { id, friendlyName, createdAt, lastUsedAt } = passkey
  const view = { id, friendly_name: friendlyName, created_at: createdAt }
  return lastUsedAt === null ? view : { ...view, last_used_at: lastUsedAt }
}

export const PasskeyQuestionView = z.object({
  challenge_id: z.guid(),
  options: CredentialOptions,
  expires_at: z.int().meta({ description: 'When the challenge expires, in seconds since 1970' }),
})

/** The JSON of a challenge. Its end is in whole seconds since 1970, rounded down. */
export function viewPasskeyQuestion(question: PasskeyQuestion): z.output<typeof PasskeyQuestionView> {
  const { id, options, expiresAt } = question
  return { challenge_id: id, options, expires_at: Math.floor(expiresAt.getTime() / 1_000) }
}
