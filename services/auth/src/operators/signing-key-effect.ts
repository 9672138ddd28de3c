import type { SigningKeyStatus } from '../access-tokens/signing-key-repository.ts'
import { viewSigningKey } from '../access-tokens/signing-key-view.ts'
import { signingKeyNotFound } from '../operator-errors.ts'
import type { OperatorEffect } from './operator-change.ts'

/** What a change of a signing key means to the operator: the answer is the key as it is now. */
export function toKeyEffect(key: SigningKeyStatus, changes: object, status = 200): OperatorEffect {
  return { status, answer: { key: viewSigningKey(key) }, object: { kind: 'signing-key', id: key.kid }, changes }
}

/** Refuses a kid that no key ever had. @throws signingKeyNotFound */
export function refuseUnknownKey(): never {
  throw signingKeyNotFound()
}
