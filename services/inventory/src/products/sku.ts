import { FIELD_TEXTS } from '../field-errors.ts'

/** The longest SKU, counted in code points. */
export const SKU_LENGTH_MAX = 255

/**
 * Why a text is not a SKU, for the client; undefined for a SKU (reference: SKU). The length is counted in code points, as
 * PostgreSQL counts it.
 */
export function findSkuFault(sku: string): string | undefined {
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
