import { FIELD_TEXTS } from '../field-errors.ts'

/** The longest SKU, counted in code points. */
export const SKU_LENGTH_MAX = 255

/** The pattern of a SKU, for the API document: no control characters, and no white space at either end. */
export const SKU_PATTERN = String.raw`^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$`

/**
 * Why a text is not a SKU, for the client; undefined for a SKU (reference: SKU). The length is counted in code points, as
 * PostgreSQL counts it.
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
