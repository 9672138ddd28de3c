import { passkeyRefused, tooManyPasskeys } from '../factor-errors.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { StoredCredential } from './credential.ts'

/** A credential with which a user signs in. */
export interface Passkey {
  readonly id: string
  readonly userId: string
  readonly friendlyName: string
  readonly credential: StoredCredential
  readonly createdAt: Timestamp
  readonly lastUsedAt: Timestamp | null
}

/** Refuses an answer that is no valid answer of a passkey, without the reason. @throws passkeyRefused */
export function refusePasskey(): never {
  throw passkeyRefused()
}

/** Requires that a user with these passkeys may have one more. @throws tooManyPasskeys */
export function requireRoom(passkeys: readonly Passkey[], { passkeysMax }: { readonly passkeysMax: number }): void {
  if (passkeys.length >= passkeysMax) throw tooManyPasskeys()
}
