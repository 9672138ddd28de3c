/** A text, or a number that JavaScript writes with an exponent. Texts come first, so that no number is found inside of one. */
const TEXT_OR_EXPONENT = /"(?:[^"\\]|\\.)*"|(\d)(?:\.(\d+))?e([+-]\d+)/g

/**
 * The size of a JSON value in the database, in bytes: as JSON with every number written out. PostgreSQL keeps `1e308`
 * in few bytes, and writes 309 digits each time that the value is read.
 */
export function storedJsonBytes(value: unknown): number {
  const json = JSON.stringify(value) ?? ''
  let bytes = Buffer.byteLength(json)
  for (const { 0: written, 1: first, 2: decimals = '', 3: exponent } of json.matchAll(TEXT_OR_EXPONENT)) {
    if (first !== undefined) bytes += lengthInFull(decimals.length, Number(exponent)) - written.length
  }
  return bytes
}

/** The length of a number without its sign: one digit before the point, some decimals, and an exponent beyond them. */
function lengthInFull(decimals: number, exponent: number): number {
  return exponent < 0 ? '0.'.length + decimals - exponent : exponent + 1
}
