export const SKU_LENGTH_MAX = 255

/**
 * Why a text is not a SKU, for the client; undefined for a SKU (reference: SKU). The length is counted in code points, as
 * PostgreSQL counts it.
 */
export function findSkuFault(sku: string): string | undefined {
  if (sku === '') return 'must not be empty'
  if (!sku.isWellFormed()) return 'must be well-formed Unicode'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse
  if (/[\u0000-\u001f\u007f-\u009f]/.test(sku)) return 'must not hold control characters'
  if (sku !== sku.trim()) return 'must not begin or end with white space'
  if (sku.length > SKU_LENGTH_MAX && [...sku].length > SKU_LENGTH_MAX) {
    return `must have at most ${SKU_LENGTH_MAX} characters`
  }
  return undefined
}
