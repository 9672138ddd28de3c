import type { HttpErrorOptions } from '@trestle/common/errors/define-error.ts'
import { hasForbiddenKey } from '@trestle/endpoints/body/json-text.ts'
import { z } from 'zod'
import { attributesInvalid, duplicateSku, productChanged, productNotFound } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import type { JsonText } from '../json/json-object.ts'
import { scanJson } from '../json/scan-json.ts'

export interface Product {
  readonly id: number
  readonly sku: string
  /** JSON text of any value except `null`, as PostgreSQL prints it, with every digit of its numbers. */
  readonly attributes: string
}

/** A product with its version, which starts at 1 and increases by one with each change. */
export interface VersionedProduct extends Product {
  readonly version: number
}

export interface ProductDetails extends VersionedProduct {
  readonly createdAt: Date
  readonly updatedAt: Date
  /** JSON text with the quantities on hand, reserved and available, summed over all locations. */
  readonly stock: string
}

/** A product of a list. A short list omits long attributes. */
export interface ListedDetails extends Omit<ProductDetails, 'attributes'> {
  /** JSON text as in `Product`. `null` if it is too long for a short list. */
  readonly attributes: string | null
  /** The length of omitted attributes as JSON text, in bytes. */
  readonly attributesBytes?: number
}

export interface NewProduct {
  readonly sku: string
  /** JSON text that `checkAttributes` accepts. */
  readonly attributes: string
}

/**
 * @param found a product from a query, or the verdict of a SQL function
 * @param details further members of the error, such as the line of a batch
 * @returns `found`
 * @throws productNotFound
 */
export function requireProduct<Found>(
  found: Found | 'not-found' | 'product-not-found' | undefined,
  details: HttpErrorOptions['details'] = {},
): Found {
  if (found === undefined || found === 'not-found' || found === 'product-not-found') throw productNotFound({ details })
  return found
}

/**
 * @param found the verdict of a change or deletion that requires certain versions
 * @throws productNotFound, or productChanged if the product has another version
 */
export function requireSameProduct<Found>(found: Found | 'not-found' | 'stale'): Found {
  const current = requireProduct(found)
  if (current === 'stale') throw productChanged()
  return current
}

/** @throws duplicateSku if another product has the SKU */
export function requireFreeSku<Written>(written: Written | 'duplicate-sku'): Written {
  if (written === 'duplicate-sku') throw duplicateSku()
  return written
}

/** Returns how many products like `products` (by their attributes) fit in a number of characters: 1 to `max`. */
export function rowsThatFit(
  products: readonly Pick<ListedDetails, 'attributes'>[],
  { characters, max }: { readonly characters: number; readonly max: number },
): number {
  if (products.length === 0) return max
  const length = products.reduce((sum, { attributes }) => sum + (attributes?.length ?? 0), 0)
  return Math.max(1, Math.min(max, Math.floor((characters * products.length) / length)))
}

export const ProductView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the product' }),
    sku: z.string().max(255).meta({ description: 'The name that its owner gives it' }),
    attributes: z.unknown().meta({
      description: 'Any JSON value but null. Numbers keep every digit',
      examples: [{ color: 'red', price: 19.9 }],
    }),
    createdAt: z.iso.datetime().optional().meta({ description: 'Present with include=meta' }),
    updatedAt: z.iso.datetime().optional().meta({ description: 'Present with include=meta' }),
    version: z.int().min(1).optional().meta({ description: 'Present with include=meta' }),
    stock: z
      .object({
        onHand: z.int().min(0).meta({ description: 'The quantity at all locations, reserved or not' }),
        reserved: z.int().min(0).meta({ description: 'How much of it is reserved' }),
        available: z.int().min(0).meta({ description: 'What is on hand and not reserved' }),
      })
      .optional()
      .meta({ id: 'StockTotals', description: 'The stock over all locations. Present with include=stock' }),
  })
  .meta({ id: 'Product' })

/** In a short list, `attributes` may be `null`. */
export const ListedProductView = ProductView.extend({
  attributesBytes: z.int().min(1).optional().meta({
    description:
      'How long the attributes are, in bytes of JSON. Present with attributes=short where attributes is null, because they are longer than 4096 bytes',
  }),
}).meta({ id: 'ListedProduct' })

export const INCLUDES = ['meta', 'stock'] as const
export type Include = (typeof INCLUDES)[number]

export const ProductCreatedView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the new product' }),
    message: z.string().meta({ description: 'What was done, for people' }),
  })
  .meta({ id: 'ProductCreated', examples: [{ id: 6, message: 'Product 6 was created.' }] })

/** The attributes are already text. Parsing would cost time and lose digits. */
export function productJson(product: Product): string {
  return `{${commonMembers(product)}}`
}

export function productDetailsJson(product: ListedDetails, includes: readonly Include[]): string {
  const { createdAt, updatedAt, version, stock, attributesBytes } = product
  const size = attributesBytes === undefined ? '' : `,"attributesBytes":${attributesBytes}`
  const meta = `,"createdAt":"${createdAt.toISOString()}","updatedAt":"${updatedAt.toISOString()}","version":${version}`
  const asked = (includes.includes('meta') ? meta : '') + (includes.includes('stock') ? `,"stock":${stock}` : '')
  return `{${commonMembers(product)}${size}${asked}}`
}

function commonMembers({ id, sku, attributes }: Pick<ListedDetails, 'id' | 'sku' | 'attributes'>): string {
  return `"id":${id},"sku":${JSON.stringify(sku)},"attributes":${attributes}`
}

export function productCreatedJson(id: number): string {
  return `{"id":${id},"message":"Product ${id} was created."}`
}

/** In Unicode code points. */
export const SKU_LENGTH_MAX = 255

/** The pattern of a SKU for the OpenAPI document: no control characters, and no white space at either end. */
export const SKU_PATTERN = String.raw`^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$`

/**
 * Returns why text is not a SKU, or `undefined` for a valid SKU (reference: SKU). The length is counted in code points, as in
 * PostgreSQL.
 */
export function findSkuProblem(sku: string): string | undefined {
  if (sku === '') return FIELD_TEXTS.empty
  if (!sku.isWellFormed()) return FIELD_TEXTS.notWellFormed
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse
  if (/[\u0000-\u001f\u007f-\u009f]/.test(sku)) return FIELD_TEXTS.controlCharacters
  if (sku !== sku.trim()) return FIELD_TEXTS.outerSpace
  if (sku.length > SKU_LENGTH_MAX && [...sku].length > SKU_LENGTH_MAX) {
    return FIELD_TEXTS.tooLong({ max: SKU_LENGTH_MAX })
  }
  return undefined
}

/** JSON text that can be stored as attributes, or the reason for a refusal. */
type AttributesVerdict =
  | { readonly verdict: 'accepted'; readonly text: string }
  | { readonly verdict: 'refused'; readonly reason: string }

/** The maximum depth of nested objects and arrays (reference: Attributes). */
export const ATTRIBUTES_DEPTH_MAX = 32
/** The maximum number of keys on all levels together (reference: Attributes). */
export const ATTRIBUTES_KEYS_MAX = 1_000
/** The maximum number of digits after the decimal point in PostgreSQL. */
const FRACTION_DIGITS_MAX = 16_383

/**
 * @param attributes JSON as text, or an object or array
 * @returns JSON text that can be stored
 * @throws attributesInvalid with the problem
 */
export function storableAttributes(attributes: string | JsonText, bytesMax: number): string {
  const checked = checkAttributes(typeof attributes === 'string' ? attributes : attributes.jsonText, bytesMax)
  if (checked.verdict === 'refused') throw attributesInvalid(checked.reason)
  return checked.text
}

/**
 * Checks the JSON text of attributes. PostgreSQL gets the text unchanged, and JavaScript never computes with its numbers, so
 * every number keeps its digits.
 * @param bytesMax limit of the text, also after all numbers are written out, because PostgreSQL prints `1e60000` in full
 */
export function checkAttributes(text: string, bytesMax: number): AttributesVerdict {
  if (Buffer.byteLength(text) > bytesMax) return refused(FIELD_TEXTS.tooManyBytes({ max: bytesMax }))
  const value = parseJson(text)
  if (value === undefined) return refused(FIELD_TEXTS.notJson)
  if (value === null) return refused(FIELD_TEXTS.nothing)
  const scan = scanJson(text)
  if (scan.depth > ATTRIBUTES_DEPTH_MAX) return refused(FIELD_TEXTS.tooDeep({ max: ATTRIBUTES_DEPTH_MAX }))
  if (scan.keys > ATTRIBUTES_KEYS_MAX) return refused(FIELD_TEXTS.tooManyKeys({ max: ATTRIBUTES_KEYS_MAX }))
  if (hasForbiddenKey(text, value)) return refused(FIELD_TEXTS.forbiddenKey)
  if (scan.unstorableText) return refused(FIELD_TEXTS.notStorable)
  if (Buffer.byteLength(text) + scan.numberGrowth > bytesMax || scan.fractionDigits > FRACTION_DIGITS_MAX) {
    return refused(FIELD_TEXTS.holdsLongNumber)
  }
  return { verdict: 'accepted', text }
}

function refused(reason: string): AttributesVerdict {
  return { verdict: 'refused', reason }
}

/** Returns `undefined` if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
