import { scanJson } from '../json/scan-json.ts'

/** Attributes as JSON text: either accepted, or the reason, for a client to read, why not. */
export type AttributesVerdict =
  | { readonly verdict: 'accepted'; readonly text: string }
  | { readonly verdict: 'refused'; readonly reason: string }

export const ATTRIBUTES_DEPTH_MAX = 32
export const ATTRIBUTES_KEYS_MAX = 1_000
/** PostgreSQL keeps no more digits after the point. */
const FRACTION_DIGITS_MAX = 16_383

/**
 * Checks the attributes of a product (reference: Attributes). The text goes to the database as it is, so that every number
 * keeps its digits. JavaScript never computes with the numbers.
 * @param bytesMax limit of the text, and of the text with all numbers written out, since `1e60000` comes back in full
 */
export function checkAttributes(text: string, bytesMax: number): AttributesVerdict {
  if (Buffer.byteLength(text) > bytesMax) return refused(`must be at most ${bytesMax} bytes of JSON`)
  const value = parseJson(text)
  if (value === undefined) return refused('must be JSON')
  if (value === null) return refused('must not be null')
  const scan = scanJson(text)
  if (scan.depth > ATTRIBUTES_DEPTH_MAX) return refused(`must be nested at most ${ATTRIBUTES_DEPTH_MAX} levels deep`)
  if (scan.keys > ATTRIBUTES_KEYS_MAX) return refused(`must have at most ${ATTRIBUTES_KEYS_MAX} keys in all`)
  if (scan.hasProtoKey) return refused('must not have a key "__proto__"')
  if (scan.unstorableText) return refused('must not hold U+0000 or half a surrogate pair')
  if (Buffer.byteLength(text) + scan.numberGrowth > bytesMax || scan.fractionDigits > FRACTION_DIGITS_MAX) {
    return refused('must not hold a number that is too long when written out')
  }
  return { verdict: 'accepted', text }
}

function refused(reason: string): AttributesVerdict {
  return { verdict: 'refused', reason }
}

/** The value, or undefined when the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
