export const SKU_LENGTH_MAX = 255

/**
 * Why a text cannot be a sku, for a client to read; undefined when it can. Length counts characters (code points), as the
 * database does.
 * @see contract of the inventory, section 2
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
