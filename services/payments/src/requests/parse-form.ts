import type { FieldError, FieldErrorCode } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'

/** The values of a form before the schema assigns types: texts, objects without a prototype, and arrays from `a[]`. */
export type FormValue = string | FormValue[] | FormObject
/** The fields of a form, by name. Values are texts, lists or objects. */
export interface FormObject {
  [key: string]: FormValue
}

/** A parsed body or query, or the errors that make it unreadable. */
export type Parsed<Value> =
  | { readonly verdict: 'read'; readonly value: Value }
  | { readonly verdict: 'malformed'; readonly errors: readonly FieldError[] }

const PAIRS_MAX = 500
const LEVELS_MAX = 5
const KEY = /^([^[\]]+)((?:\[[^[\]]*\])*)$/
const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor'])

/**
 * Parses a form (`application/x-www-form-urlencoded`) or a query string. Brackets create nested values. The schema decides later
 * whether a text is a number or a boolean (reference: Forms).
 */
export function parseForm(text: string): Parsed<FormObject> {
  const pairs = text.split('&').filter((pair) => pair !== '')
  if (pairs.length > PAIRS_MAX)
    return malformed(fieldError('body', FIELD_TEXTS.tooManyFields({ max: PAIRS_MAX }), 'RANGE'))
  const value = emptyObject()
  const errors = new Map<string, FieldError>()
  for (const pair of pairs) {
    const decoded = decodePair(pair)
    if (!decoded) return malformed(fieldError('body', FIELD_TEXTS.notPercentEncoded, 'FORMAT'))
    const path = segments(decoded.key)
    const error = path.length > LEVELS_MAX + 1 ? tooDeep(path) : putAtPath(value, path, decoded.text)
    if (error && !errors.has(error.field)) errors.set(error.field, error)
  }
  return errors.size === 0 ? { verdict: 'read', value } : malformed(...errors.values())
}

function malformed(...errors: readonly FieldError[]): Parsed<never> {
  return { verdict: 'malformed', errors }
}

function decodePair(pair: string): { key: string; text: string } | undefined {
  const at = pair.indexOf('=')
  const [key, text] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
  try {
    return { key: decode(key), text: decode(text) }
  } catch {
    // decodeURIComponent throws for a malformed escape and for bytes that are not UTF-8.
    return undefined
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

/** Splits a key into its segments: `a[b][]` → `['a', 'b', '']`. A key with unmatched brackets is one literal segment. */
function segments(key: string): readonly string[] {
  const match = KEY.exec(key)
  const [, root, rest] = match ?? []
  if (root === undefined || !rest) return [key]
  return [root, ...rest.slice(1, -1).split('][')]
}

/** Stores a text at its path. Returns an error if the path is not allowed. */
function putAtPath(root: FormObject, path: readonly string[], text: string): FieldError | undefined {
  if (path.some((segment) => FORBIDDEN.has(segment)))
    return fieldError(fieldOf(path), FIELD_TEXTS.forbiddenName, 'FORMAT')
  let container: FormObject | FormValue[] = root
  for (const [index, segment] of path.entries()) {
    const next = path[index + 1]
    if (next === undefined) return putText(container, segment, text) ? undefined : duplicate(path.slice(0, index + 1))
    const child = openContainer(container, segment, next === '' ? 'list' : 'object')
    if (!child) return duplicate(path.slice(0, index + 1))
    container = child
  }
  return undefined
}

function putText(container: FormObject | FormValue[], segment: string, text: string): boolean {
  if (Array.isArray(container)) return segment === '' && container.push(text) > 0
  if (segment in container) return false
  container[segment] = text
  return true
}

/** The container `segment`, created if missing. `undefined` if a value of another kind has the name. */
function openContainer(
  container: FormObject | FormValue[],
  segment: string,
  kind: 'list' | 'object',
): FormObject | FormValue[] | undefined {
  const fresh = kind === 'list' ? [] : emptyObject()
  if (Array.isArray(container)) {
    if (segment !== '') return undefined
    container.push(fresh)
    return fresh
  }
  const known = container[segment]
  if (known === undefined) {
    container[segment] = fresh
    return fresh
  }
  return typeof known !== 'string' && Array.isArray(known) === (kind === 'list') ? known : undefined
}

function emptyObject(): FormObject {
  return Object.create(null)
}

function fieldOf(path: readonly string[]): string {
  return path.filter((segment) => segment !== '').join('.')
}

function duplicate(path: readonly string[]): FieldError {
  return fieldError(fieldOf(path), FIELD_TEXTS.givenTwice, 'DUPLICATE')
}

function tooDeep(path: readonly string[]): FieldError {
  return fieldError(fieldOf(path), FIELD_TEXTS.tooDeep({ max: LEVELS_MAX }), 'RANGE')
}

function fieldError(field: string, message: string, code: FieldErrorCode): FieldError {
  return { field, message, code }
}
