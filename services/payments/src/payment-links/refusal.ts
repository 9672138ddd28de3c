import type { TextName, Translate } from '../pages/locale.ts'
import { isRefusal, processingError, processingErrorOf, REFUSAL_CODES } from '../transactions/processing-error.ts'
import type { CardField } from './card-form.ts'

/** The text about a refusal, and the field that it concerns, if any. */
export interface Refusal {
  readonly text: TextName
  readonly field?: CardField
}

/**
 * Texts by processing error. All other errors have a neutral text, and so have faults of the merchant (reference: After the
 * payment).
 */
const REFUSALS: readonly (readonly [readonly number[], Refusal])[] = [
  [[3, 17, 29], { text: 'refusedNumber', field: 'number' }],
  [[4, 20], { text: 'refusedCode', field: 'code' }],
  [[5, 6, 18, 19], { text: 'refusedExpiry', field: 'expiry' }],
  [[2], { text: 'refusedCard' }],
  [[7, 8, 9, 10, 25], { text: 'refusedIssuer' }],
  [[11, 12], { text: 'refusedNetwork' }],
  [[30, 31], { text: 'refusedTds' }],
]
const BY_ERROR = new Map(REFUSALS.flatMap(([errors, refusal]) => errors.map((error) => [error, refusal] as const)))

/** Codes of the checkout without a processing error, or with another meaning here. */
const BY_CODE = new Map<string, Refusal>(
  // The tokens of this page were new, so they have expired or were spent while the customer was away.
  ['TOKEN_INVALID', 'PAYMENT_CHALLENGE_UNAVAILABLE'].map((code) => [code, { text: 'tooLong' }] as const),
)
const NEUTRAL: Refusal = { text: 'refusedOther' }

export function refusalOf(statusCode: string): Refusal {
  const known = BY_CODE.get(statusCode)
  if (known || !isRefusal(statusCode)) return known ?? NEUTRAL
  const { code, client } = processingError(processingErrorOf(statusCode))
  return (client ? BY_ERROR.get(code) : undefined) ?? NEUTRAL
}

/** The texts of the script by status code. The empty code stands for all other codes. */
export function refusalTable(
  say: Translate,
): Readonly<Record<string, { readonly text: string; readonly field?: CardField }>> {
  const codes = [...REFUSAL_CODES, ...BY_CODE.keys()]
  const texts = codes.map((code) => [code, refusalOf(code)] as const).filter(([, refusal]) => refusal !== NEUTRAL)
  return Object.fromEntries([...texts, ['', NEUTRAL] as const].map(([code, r]) => [code, { ...r, text: say(r.text) }]))
}
