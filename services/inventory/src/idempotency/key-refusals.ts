import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { keyMismatch, keyRunning } from '../errors.ts'
import type { KeyRefusal } from './answer.ts'

/** Why a request with an Idempotency-Key is not carried out, for its client. */
export const keyRefusals: Readonly<Record<KeyRefusal, () => HttpError>> = {
  'key-mismatch': () => keyMismatch(),
  'key-running': () => keyRunning(),
}
