import type { SigningKeyStatus } from '../access-tokens/signing-key-repository.ts'
import { viewSigningKey } from '../access-tokens/signing-key-view.ts'
import { signingKeyNotFound } from '../operator-errors.ts'
import type { OperatorEffect } from './operator-change.ts'

/**
 * The answer and the audit entry for a change of a signing key. The answer is the key as it is after the change.
 * @param changes how the key was changed, for the audit log
 */
export function toKeyEffect(key: SigningKeyStatus, changes: object, status = 200): OperatorEffect {
  return { status, answer: { key: viewSigningKey(key) }, object: { kind: 'signing-key', id: key.kid }, changes }
}

/** Refuses a kid that no key ever had. @throws signingKeyNotFound */
export function refuseUnknownKey(): never {
  throw signingKeyNotFound()
}
