/**
 * Matches a text, or a number that JavaScript writes with an exponent. Texts come first, so that digits inside a text are not
 * matched as a number.
 */
const TEXT_OR_EXPONENT = /"(?:[^"\\]|\\.)*"|(\d)(?:\.(\d+))?e([+-]\d+)/g

/**
 * Returns the size of a JSON value in the database, in bytes, with every number written in full. PostgreSQL stores `1e308` in few
 * bytes, but writes 309 digits whenever the value is read.
 */
export function storedJsonBytes(value: unknown): number {
  const json = JSON.stringify(value) ?? ''
  let bytes = Buffer.byteLength(json)
  for (const { 0: written, 1: first, 2: decimals = '', 3: exponent } of json.matchAll(TEXT_OR_EXPONENT)) {
    if (first !== undefined) bytes += lengthInFull(decimals.length, Number(exponent)) - written.length
  }
  return bytes
}

/**
 * Returns the length of a number without its sign, written in full. The number has one digit before the point, `decimals` digits
 * after the point, and an exponent greater than that.
 */
function lengthInFull(decimals: number, exponent: number): number {
  return exponent < 0 ? '0.'.length + decimals - exponent : exponent + 1
}
