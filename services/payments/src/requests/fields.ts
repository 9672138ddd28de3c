import { domainToASCII } from 'node:url'
import { storedJsonBytes } from '@trestle/common/documents/stored-json.ts'
import { z } from 'zod'
import { hasCardNumber, hasCardNumberDeep } from '../cards/clear-number.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { CHARGEABLE, isChargeable } from '../money/currencies.ts'
import { AMOUNT_MAX } from '../money/minor-units.ts'
import { ID_FORM } from '../pagination/page-query.ts'

const DESCRIPTOR_VISIBLE_MIN = 2

/** Whether PostgreSQL and JSON can contain a text: no U+0000, no lone surrogate (reference: Text). */
export function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

/** Replaces each character that cannot be stored with U+FFFD. */
export function toStorable(value: string): string {
  return value.replaceAll('\0', '\ufffd').toWellFormed()
}

/** Returns the schema of a storable text without a card number. The text may be displayed and sent to others. */
export function text(): z.ZodString {
  return TEXT
}

/** A storable text. For values with their own format, such as IBANs, and values that are not stored. */
export function anyText(): z.ZodString {
  return ANY_TEXT
}

/** For the API document: what `isStorable` accepts. JSON Schema cannot exclude lone surrogates. */
const STORABLE = '^[^\\u0000]*$'
const ANY_TEXT = z
  .string()
  .refine(isStorable, { error: FIELD_TEXTS.notStorable, params: { code: 'FORMAT' } })
  .meta({ pattern: STORABLE })
const TEXT = ANY_TEXT.refine((value) => !hasCardNumber(value), {
  error: FIELD_TEXTS.cardNumber,
  params: { code: 'FORMAT' },
}).meta({ pattern: STORABLE })
/**
 * A pattern for the API document: a storable text that is not empty after trimming. It names U+FEFF, because Python does not
 * count U+FEFF as a space.
 */
const STORABLE_NAME = '^[^\\u0000]*[^\\u0000\\s\\ufeff][^\\u0000]*$'
/** The pattern of ids in the API document. It replaces the rules that the schemas state in code. */
const ID_PATTERN = '^[0-9a-fA-F]{24}$'
/**
 * Returns the pattern of a host of at most 253 characters with at least `labelsMin` labels before the last label. It allows a few
 * long labels, or more short ones. The service accepts more: letters of all scripts, and any address that a browser accepts.
 */
const hostPattern = (labelsMin: number): string => {
  const labels = (lengthMax: number, countMax: number) =>
    `([A-Za-z0-9]([A-Za-z0-9-]{0,${lengthMax - 2}}[A-Za-z0-9])?[.]){${labelsMin},${countMax}}`
  return `(${labels(63, 3)}|${labels(24, 9)})[A-Za-z]{1,24}`
}
const EMAIL_PATTERN = `^[A-Za-z0-9._%+-]+@${hostPattern(1)}$`
const PORT_PATTERN = '(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?'
const WEB_PATTERN = `https?://(${hostPattern(0)}|127[.]0[.]0[.]1)${PORT_PATTERN}([/?#][A-Za-z0-9/?#&=%+._~-]*)?`
const WEBSITE_PATTERN = `^(${hostPattern(0)}|${WEB_PATTERN})$`
/** The pattern of URLs in the API document: URLs that a browser can open. */
export const URL_PATTERN = `^${WEB_PATTERN}$`

/** Returns the schema of a trimmed name of 1 to 255 characters. */
export function name(): z.ZodString {
  return text().trim().min(1).max(255).meta({ pattern: STORABLE_NAME })
}

/**
 * Returns the schema of an email address: at most 254 characters, with one `@` and a host name that contains a dot. An
 * internationalised domain is converted to ASCII, so that one address has one spelling.
 */
export function email(): z.ZodString {
  return text()
    .trim()
    .overwrite(toAsciiDomain)
    .max(254)
    .refine(isEmail, { error: FIELD_TEXTS.notEmail, params: { code: 'FORMAT' } })
    .meta({ pattern: EMAIL_PATTERN })
}

function toAsciiDomain(value: string): string {
  const [local = '', domain = '', ...others] = value.split('@')
  const isForeign = others.length === 0 && HOST.test(domain) && !ASCII.test(domain)
  return isForeign ? `${local}@${domainToASCII(domain)}` : value
}

function isEmail(value: string): boolean {
  const [local = '', domain = '', ...others] = value.split('@')
  return others.length === 0 && LOCAL_PART.test(local) && domain.includes('.') && HOST.test(domain)
}

const ASCII = /^[\x20-\x7e]*$/

/** No special characters of RFC 5322: mail libraries drop some, so one mailbox would have many spellings. */
const LOCAL_PART = /^[^\s\p{C}<>()[\]:;,"\\]+$/u

/** An absolute http(s) URL or a bare host name, at most 2048 characters, not changed. */
export function website(): z.ZodString {
  return text()
    .trim()
    .max(2048)
    .refine((value) => isHttpUrl(value) || HOST.test(value), {
      error: FIELD_TEXTS.notWebsite,
      params: { code: 'FORMAT' },
    })
    .meta({ pattern: WEBSITE_PATTERN })
}

const HOST =
  /^(?=.{1,253}$)[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?)*$/u

/** Returns whether a text is an absolute http(s) URL. */
export function isHttpUrl(value: string): boolean {
  return /^https?:\/\/\S+$/i.test(value) && URL.canParse(value)
}

/**
 * Returns the schema of a text on bank statements: 2 to 22 printable ASCII characters, at least 2 of them not blank. The text is
 * not changed (reference: Text).
 */
export function descriptor(): z.ZodString {
  return text()
    .min(2)
    .max(22)
    .refine((value) => ASCII.test(value), {
      error: FIELD_TEXTS.notAscii,
      params: { code: 'FORMAT' },
    })
    .refine((value) => value.replaceAll(' ', '').length >= DESCRIPTOR_VISIBLE_MIN, {
      error: FIELD_TEXTS.mostlyBlank,
      params: { code: 'FORMAT' },
    })
    .meta({ pattern: '^[ -~]*$' })
}

type PathField<Schema extends z.ZodType> = z.core.$ZodBranded<Schema, 'path', 'out'>

/** An id in the path, in lower case. Any other text becomes empty and names no object: 404, never 400. */
export function pathId(): PathField<z.ZodPipe<z.ZodString, z.ZodTransform<string, string>>> {
  return PATH_ID
}

const UUID = '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
const IS_UUID = new RegExp(UUID)

/** A UUID in the path, in lower case. Any other text becomes empty and names no object: 404, never 400. */
export function pathUuid(): PathField<z.ZodPipe<z.ZodString, z.ZodTransform<string, string>>> {
  return z
    .string()
    .meta({ pattern: UUID })
    .transform((value) => (IS_UUID.test(value) ? value.toLowerCase() : ''))
    .brand<'path'>()
}

/** Returns the schema of a path part that is any text instead of an id. The handler refuses a text that names nothing. */
export function pathText(): PathField<z.ZodString> {
  return z.string().brand<'path'>()
}

/** The values of a path. No schema refuses a path value. */
export type PathValues = Readonly<Record<string, string & z.$brand<'path'>>>

/** Shared, because nearly every route has an id in its path. */
const PATH_ID = z
  .string()
  .meta({ pattern: ID_PATTERN })
  .transform((value) => (ID_FORM.test(value) ? value.toLowerCase() : ''))
  .brand<'path'>()

/** Returns the schema of an id in a body or a query, converted to lower case. The id may name no object. */
export function id(): z.ZodString {
  return text()
    .refine((value) => ID_FORM.test(value), { error: FIELD_TEXTS.notId, params: { code: 'FORMAT' } })
    .toLowerCase()
    .meta({ pattern: ID_PATTERN })
}

/**
 * Returns the schema of an instant of RFC 3339, converted to UTC. PostgreSQL accepts fewer offsets than JavaScript, and writes
 * some years differently.
 */
export function instant(): z.ZodPipe<z.ZodISODateTime, z.ZodTransform<string, string>> {
  return z.iso
    .datetime({ offset: true })
    .refine((value) => Date.parse(value) >= 0 && Date.parse(value) < YEAR_10000, {
      error: FIELD_TEXTS.notWithinYears,
      params: { code: 'RANGE' },
    })
    .meta({ pattern: INSTANT_PATTERN })
    .transform((value) => new Date(value).toISOString())
}

/** Stricter than the service: allows only days 1 to 28, because a pattern does not know the months. */
const INSTANT_PATTERN =
  '^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$'
const YEAR_10000 = Date.UTC(10_000)

/** A schema for the API document: an object with one required text field. */
interface TextAlternative {
  readonly properties: Record<string, { readonly type: 'string'; readonly minLength: number }>
  readonly required: string[]
}

/** Returns one of several alternatives for the API document: an object with this field, a non-empty text. */
export function withText(name: string): TextAlternative {
  return { properties: { [name]: { type: 'string', minLength: 1 } }, required: [name] }
}

/** The query of every list: pagination, and the common filter (reference: Pagination). */
export const ListQuery = z.object({
  limit: z.int().min(1).max(1000).describe('How many objects at most'),
  before: id().optional().describe('Only objects with smaller ids, newest first'),
  after: id().optional().describe('Only objects with greater ids; without before, oldest first'),
  filter: z
    .object({ test: z.boolean().optional() })
    .optional()
    .describe('Only objects of this kind, as filter[test]=y'),
})

/** Returns the schema of an amount in minor units, at least 1. */
export function amount(): z.ZodInt {
  return z.int().min(1).max(Number(AMOUNT_MAX))
}

/** Returns the schema of a currency that new transactions may have. */
export function currency(): z.ZodString {
  return text()
    .trim()
    .refine((code) => /^[A-Z]{3}$/.test(code), { error: FIELD_TEXTS.notCurrencyCode })
    .refine(isChargeable, { error: FIELD_TEXTS.notChargeable, params: { code: 'UNKNOWN' } })
    .meta({ pattern: undefined, enum: [...CHARGEABLE] })
}

/** Returns the schema of the merchant's reference for a payment or an operation: 1 to 255 characters. */
export function reference(): z.ZodString {
  return text().min(1).max(255)
}

/**
 * Reads the reference from `custom`. Official clients put it there, because they have no field for it. Returns `undefined` if
 * there is no reference, or if the schema `reference` refuses it.
 */
export function referenceOf(custom: unknown): string | undefined {
  if (typeof custom !== 'object' || custom === null || !('reference' in custom)) return undefined
  return reference().safeParse(custom.reference).data
}

const CUSTOM_BYTES_MAX = 50_000

/** A merchant's own object, stored as JSON with double-precision numbers. The size limit counts numbers written out. */
export function custom(): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return storableJson(z.record(z.string(), z.unknown()))
}

/** Returns the schema of `custom` at the checkout, where it may be any JSON value. */
export function anyCustom(): z.ZodUnknown {
  return storableJson(z.unknown())
}

function storableJson<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .refine((value) => storedJsonBytes(value) <= CUSTOM_BYTES_MAX, {
      error: FIELD_TEXTS.tooManyBytes({ max: CUSTOM_BYTES_MAX }),
      params: { code: 'RANGE' },
      // Strangers may send this value. `abort` ends validation if it is too large, so that the next check does not search it.
      abort: true,
    })
    .refine(isStorableDeep, { error: FIELD_TEXTS.notStorable })
    .refine((value) => !hasCardNumberDeep(value), { error: FIELD_TEXTS.cardNumber })
}

function isStorableDeep(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, field]) => isStorable(key) && isStorableDeep(field))
}
