import { emailProblem, normaliseEmail, requirePhone, type UserIdentifier } from '../identifier.ts'
import {
  badEmailAtVerify,
  mailTypeUnsupported,
  tokenHashNotAlone,
  twoAddressesAtVerify,
  verifyTokenMissing,
  verifyTokenUnclear,
  verifyTypeMissing,
  verifyTypeUnsupported,
} from '../request-errors.ts'
import { isPhoneType, isVerifyType, type VerifyType } from './verify-type.ts'

/** The body of POST /verify, or the query of GET /verify. */
export interface VerifyFields {
  readonly type?: string | undefined
  readonly token?: string | undefined
  readonly token_hash?: string | undefined
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly redirect_to?: string | undefined
}

/** A typed code with the address that got it, or the token of a link. */
export type VerifyRequest =
  | { readonly kind: 'code'; readonly type: VerifyType; readonly code: string; readonly identifier: UserIdentifier }
  | { readonly kind: 'link'; readonly type: VerifyType; readonly token: string }

/**
 * Parses the body of a verification (reference: POST /verify). The order of the checks decides which error a client sees.
 * @throws validation_failed, badEmailAtVerify
 */
export function parseVerifyBody(body: VerifyFields): VerifyRequest {
  const { type, token, token_hash: tokenHash, email, phone } = body
  if (!type) throw verifyTypeMissing()
  if (Boolean(token) === Boolean(tokenHash)) throw verifyTokenUnclear()
  if (token && ((email && phone) || (isVerifyType(type) && isPhoneType(type) && !phone))) {
    throw twoAddressesAtVerify()
  }
  if (tokenHash && (email || phone || body.redirect_to)) {
    throw tokenHashNotAlone()
  }
  if (!token || !(email || phone)) return { kind: 'link', ...requireLinkType(type, token || tokenHash || '') }
  if (!isVerifyType(type)) throw verifyTypeUnsupported()
  return { kind: 'code', type, code: token, identifier: toIdentifier(email, phone) }
}

/** Parses a link. Only these checks are answered with JSON. @throws validation_failed */
export function parseLink(fields: VerifyFields): { readonly type: string; readonly token: string } {
  const token = fields.token || fields.token_hash
  if (!fields.type) throw verifyTypeMissing()
  if (!token) throw verifyTokenMissing()
  return { type: fields.type, token }
}

/** Requires the type of a mail. @throws validation_failed */
export function requireLinkType(type: string, token: string): { readonly type: VerifyType; readonly token: string } {
  if (!isVerifyType(type) || isPhoneType(type)) throw mailTypeUnsupported()
  return { type, token }
}

function toIdentifier(email: string | undefined, phone: string | undefined): UserIdentifier {
  if (!email) return { kind: 'phone', value: requirePhone(phone ?? '') }
  if (emailProblem(email) !== undefined) throw badEmailAtVerify()
  return { kind: 'email', value: normaliseEmail(email) }
}
