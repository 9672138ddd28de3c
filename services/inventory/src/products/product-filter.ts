import { findSuggestion } from '@trestle/common/errors/suggestion.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { numberSize } from '../json/scan-json.ts'
import { checkAttributes, SKU_LENGTH_MAX } from './product.ts'

/** A condition on a product. A list contains the products that match all of its filters. */
export type ProductFilter =
  | { readonly kind: 'sku'; readonly values: readonly string[] }
  | { readonly kind: 'sku-prefix'; readonly prefix: string }
  /** The attributes contain one of these JSON values. */
  | { readonly kind: 'contains'; readonly values: readonly string[]; readonly negated: boolean }
  /** The scalar at the path is one of these values. `nested` has the same values inside the objects of the path. */
  | {
      readonly kind: 'one-of'
      readonly jsonPath: string
      readonly literals: readonly string[]
      readonly nested: readonly string[]
    }
  /** A jsonpath predicate is true. */
  | { readonly kind: 'predicate'; readonly jsonPath: string }
  | { readonly kind: 'exists'; readonly jsonPath: string; readonly wanted: boolean }
  | { readonly kind: 'search'; readonly text: string }

type FilterVerdict =
  | {
      readonly verdict: 'accepted'
      readonly filter: ProductFilter
      /** The number of values in the filter. */
      readonly listed?: number
    }
  | { readonly verdict: 'refused'; readonly problem: string }

/** The maximum number of values of one list, and of all lists of a request together. */
export const VALUES_MAX = 100
const SEARCH_LENGTH_MAX = 200
const CONTAINED_BYTES_MAX = 65_536
/** The maximum length of a number without exponent, in characters. */
const NUMBER_LENGTH_MAX = 1_000

/** Reads a parameter of the list, such as `attributes.price[gte]` with `10` (reference: Product filters). */
export function readFilter(name: string, value: string): FilterVerdict {
  if (value.includes('\0') || name.includes('\0')) return { verdict: 'refused', problem: FIELD_TEXTS.nulCharacter }
  if (name === 'q') return readSearch(value)
  if (name === 'contains') return readContained(value)
  const [, subject = '', operator = 'eq'] = /^(.*?)(?:\[(\w+)\])?$/s.exec(name) ?? []
  if (subject === 'sku') return readSku(operator, value)
  if (!subject.startsWith('attributes.')) return { verdict: 'refused', problem: refuseUnknown(subject) }
  const path = parseAttributePath(subject.slice('attributes.'.length))
  if (path === undefined) return { verdict: 'refused', problem: FIELD_TEXTS.tooManyPathKeys }
  const read = Object.hasOwn(operators, operator) ? operators[operator] : undefined
  return read === undefined ? { verdict: 'refused', problem: FIELD_TEXTS.unknownOperator } : read(path, value)
}

/** Known parameters to suggest for a misspelled name. The list has other parameters for its pages. */
const FILTERS = ['sort', 'sku', 'contains'] as const
/** An attribute whose name needs no quotes. Comparing longer names would take too long. */
const PLAIN_NAME = /^(?!attributes$)[\w-]{1,64}$/

/** Returns the problem of an unknown parameter: a misspelled name, or an attribute without its prefix. */
function refuseUnknown(name: string): string {
  if (!PLAIN_NAME.test(name)) return VALUE_TEXTS.unknown
  const meant = findSuggestion(name, FILTERS)
  return meant === undefined ? FIELD_TEXTS.unprefixed({ name }) : VALUE_TEXTS.misspelt({ meant })
}

function readSearch(text: string): FilterVerdict {
  const length = [...text].length
  if (text.trim() === '' || length > SEARCH_LENGTH_MAX) {
    return { verdict: 'refused', problem: FIELD_TEXTS.wrongLength({ max: SEARCH_LENGTH_MAX }) }
  }
  return { verdict: 'accepted', filter: { kind: 'search', text: text.trim() } }
}

function readContained(json: string): FilterVerdict {
  const checked = checkAttributes(json, CONTAINED_BYTES_MAX)
  if (checked.verdict === 'refused' && json.trim() !== 'null') return { verdict: 'refused', problem: checked.reason }
  return { verdict: 'accepted', filter: { kind: 'contains', values: [json], negated: false } }
}

function readSku(operator: string, value: string): FilterVerdict {
  const values = operator === 'in' ? splitList(value)?.map(textOf) : [value]
  if (values?.some(isTooLongForSku))
    return { verdict: 'refused', problem: FIELD_TEXTS.tooLong({ max: SKU_LENGTH_MAX }) }
  if (operator === 'prefix') return { verdict: 'accepted', filter: { kind: 'sku-prefix', prefix: value } }
  if (operator !== 'in' && operator !== 'eq') return { verdict: 'refused', problem: FIELD_TEXTS.unknownOperator }
  return values === undefined
    ? wrongCount
    : { verdict: 'accepted', filter: { kind: 'sku', values }, listed: values.length }
}

function isTooLongForSku(value: string): boolean {
  return value.length > SKU_LENGTH_MAX && [...value].length > SKU_LENGTH_MAX
}

const wrongCount: FilterVerdict = { verdict: 'refused', problem: FIELD_TEXTS.wrongCount({ max: VALUES_MAX }) }

/**
 * Splits a comma-separated list. As in CSV, a part in double quotes may contain commas and doubled quotes. The part keeps its
 * outer quotes, which distinguish text from a number. Returns `undefined` if there are no parts or too many.
 */
function splitList(text: string): readonly string[] | undefined {
  const values = text.match(/(?<=^|,)"(?:[^"]|"")*"(?=,|$)|[^,]+/g) ?? []
  if (values.length === 0 || values.length > VALUES_MAX) return undefined
  return values.map((part) => (isQuoted(part) ? `"${part.slice(1, -1).replaceAll('""', '"')}"` : part))
}

type ReadOperator = (path: AttributePath, value: string) => FilterVerdict

const operators: Readonly<Record<string, ReadOperator>> = {
  eq: (path, value) => contains(path, [value]),
  ne: (path, value) => contains(path, [value], { negated: true }),
  in: (path, value) => {
    const values = splitList(value)
    return values === undefined ? wrongCount : oneOf(path, values)
  },
  has: (path, value) => contains(path, [value], { inArray: true }),
  gt: compare('>'),
  gte: compare('>='),
  lt: compare('<'),
  lte: compare('<='),
  prefix: (path, value) => ({
    verdict: 'accepted',
    filter: { kind: 'predicate', jsonPath: `${toJsonPath(path)} starts with ${JSON.stringify(textOf(value))}` },
  }),
  exists: (path, value) =>
    value === 'true' || value === 'false'
      ? { verdict: 'accepted', filter: { kind: 'exists', jsonPath: toJsonPath(path), wanted: value === 'true' } }
      : { verdict: 'refused', problem: VALUE_TEXTS.notBoolean },
}

interface Containment {
  readonly negated?: boolean
  readonly inArray?: boolean
}

function contains(
  path: AttributePath,
  values: readonly string[],
  { negated = false, inArray = false }: Containment = {},
): FilterVerdict {
  const literals = values.flatMap(scalarsOf)
  if (literals.some((literal) => !isNumberInBounds(literal))) return numberTooLong
  const nested = literals.map((literal) => nestJson(path, inArray ? `[${literal}]` : literal))
  return { verdict: 'accepted', filter: { kind: 'contains', values: nested, negated } }
}

function oneOf(path: AttributePath, values: readonly string[]): FilterVerdict {
  const literals = values.flatMap(scalarsOf)
  if (literals.some((literal) => !isNumberInBounds(literal))) return numberTooLong
  const nested = literals.map((literal) => nestJson(path, literal))
  return {
    verdict: 'accepted',
    filter: { kind: 'one-of', jsonPath: toJsonPath(path), literals, nested },
    listed: values.length,
  }
}

const numberTooLong: FilterVerdict = { verdict: 'refused', problem: FIELD_TEXTS.longNumber }

/** Compares a JSON number with numbers, and any other value with strings by code point. */
function compare(operator: '>' | '>=' | '<' | '<='): ReadOperator {
  return (path, value) => {
    const literal = isNumber(value) ? value : JSON.stringify(textOf(value))
    if (!isNumberInBounds(literal)) return numberTooLong
    return {
      verdict: 'accepted',
      filter: { kind: 'predicate', jsonPath: `${toJsonPath(path)} ${operator} ${literal}` },
    }
  }
}

/** The JSON scalars that match a value: the parsed scalar and the string. In double quotes, only the string. */
function scalarsOf(value: string): readonly string[] {
  const text = JSON.stringify(textOf(value))
  return isNumber(value) || /^(?:true|false|null)$/.test(value) ? [value, text] : [text]
}

function textOf(value: string): string {
  return isQuoted(value) ? value.slice(1, -1) : value
}

function isQuoted(value: string): boolean {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"')
}

function isNumber(value: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value)
}

function isNumberInBounds(literal: string): boolean {
  return !isNumber(literal) || numberSize(literal).length <= NUMBER_LENGTH_MAX
}

/** The keys of the path to a value in the attributes, outermost first. */
export type AttributePath = readonly string[]

const KEYS_MAX = 8
/** A key in double quotes with JSON escapes, or a key without special characters. */
const KEY = /(?:("(?:[^"\\]|\\.)*")|([^."[\]]+))(\.|$)/y

/** Parses keys joined with dots, such as `dim.w` and `"a.b".c` (reference: Filter paths). Otherwise returns `undefined`. */
export function parseAttributePath(text: string): AttributePath | undefined {
  const keys: string[] = []
  KEY.lastIndex = 0
  for (let more = true; more; ) {
    const [, quoted, plain, dot] = KEY.exec(text) ?? []
    const key = quoted === undefined ? plain : unquote(quoted)
    if (key === undefined || key.includes('\0') || !key.isWellFormed() || keys.length === KEYS_MAX) return undefined
    keys.push(key)
    more = dot === '.'
  }
  return keys
}

function unquote(literal: string): string | undefined {
  try {
    return String(JSON.parse(literal))
  } catch {
    return undefined
  }
}

/** The path as jsonpath. It only enters objects, never arrays. */
export function toJsonPath(path: AttributePath): string {
  return `strict $${path.map((key) => `.${JSON.stringify(key)}`).join('')}`
}

/** The JSON of nested objects that contain `literal`, which is JSON, at the path. */
export function nestJson(path: AttributePath, literal: string): string {
  return path.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, literal)
}

/** Returns a path that equals or begins another path, so that both cannot have values, or `undefined`. */
export function findClash(paths: readonly AttributePath[]): AttributePath | undefined {
  return paths.find((path, at) =>
    paths.some((other, i) => i !== at && path.every((key, depth) => key === other[depth])),
  )
}
