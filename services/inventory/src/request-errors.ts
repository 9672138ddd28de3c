import { defineError, type HttpError } from '@trestle/common/errors/define-error.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { ISSUES_MAX } from './field-errors.ts'

// The part of the catalogue in errors.ts about wrong values of a request (reference: Error members). What a
// schema refuses has its text in field-errors.ts, or in packages/endpoints/src/error-texts.ts where the
// framework refuses it too. What another rule refuses stands here as clients read it: the path of the value,
// and what is wrong.

/** One value of a request that is not valid. */
export interface Issue {
  /** Keys joined with dots; empty for the request as a whole. */
  readonly path: string
  readonly message: string
}

const invalidValues = defineError(400, 'VALIDATION_ERROR', ({ text }: { readonly text: string }) => text)

const WHOLE_REQUEST = 'The request'

/** The request is well-formed and has wrong content. The text names the first issue, and never repeats a value. */
export function validationError(issues: readonly [Issue, ...Issue[]]): HttpError {
  const [{ path, message }] = issues
  const text = `${path === '' ? WHOLE_REQUEST : path}: ${message}`
  return invalidValues({ text }, { details: { issues: issues.slice(0, ISSUES_MAX) } })
}

/** Attributes that cannot be stored (reference: Attributes). */
export const attributesInvalid = (reason: string): HttpError =>
  validationError([{ path: 'attributes', message: reason }])
/** Paths that cannot be columns of a file. */
export const flattenInvalid = (reason: string): HttpError => validationError([{ path: 'flatten', message: reason }])

/** The error about one value. @param text the path of the value, a colon, and what is wrong with it */
function invalidValue(text: string): HttpError {
  const colon = text.indexOf(': ')
  const path = text.slice(0, colon)
  return validationError([{ path: path === WHOLE_REQUEST ? '' : path, message: text.slice(colon + 2) }])
}

export const idempotencyKeyMalformed = (): HttpError =>
  invalidValue('Idempotency-Key: must be 1 to 255 visible characters of ASCII')
export const limitTooHigh = (limitMax: number): HttpError =>
  validationError([{ path: 'limit', message: VALUE_TEXTS.tooBig({ limit: limitMax }) }])
export const cursorForeign = (): HttpError =>
  invalidValue('cursor: must come from the Link header of a page of this list')
export const flattenWithoutCsv = (): HttpError => invalidValue('flatten: is for CSV')
export const tooManyFilters = (filtersMax: number): HttpError =>
  invalidValue(`The request: must have at most ${filtersMax} filters`)
export const filtersTooLong = (lengthMax: number): HttpError =>
  invalidValue(`The request: must have at most ${lengthMax} characters of filters, URL-encoded`)
export const tooManyFilterValues = (valuesMax: number): HttpError =>
  invalidValue(`The request: must have at most ${valuesMax} values in all lists`)
export const mergedToNull = (): HttpError => invalidValue('attributes: must not be null')
export const mergedTooLarge = (bytesMax: number): HttpError =>
  invalidValue(`attributes: must stay at most ${bytesMax} bytes of JSON`)
export const mergedTooDeep = (levelsMax: number): HttpError =>
  invalidValue(`attributes: must stay nested at most ${levelsMax} levels deep`)
export const mergedTooManyKeys = (keysMax: number): HttpError =>
  invalidValue(`attributes: must stay at most ${keysMax} keys in all`)
