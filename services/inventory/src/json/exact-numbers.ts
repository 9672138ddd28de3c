/**
 * Parses JSON in which a number must be what it says. `JSON.parse` makes 1 of `1.00000000000000000001`, and no schema could
 * tell the two apart afterwards, so a number that would become whole by rounding becomes NaN, which every schema refuses.
 * @throws SyntaxError for what is no JSON
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    Number.isInteger(value) && context?.source !== undefined && !isWhole(context.source) ? Number.NaN : value,
  )
}

const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** No honest number is longer, and JSON that is kept as text is not read here. */
const LITERAL_LENGTH_MAX = 1_000

/** Whether a number of the JSON grammar is whole, as `1.0` and `1.5e1` are. A literal of more than 1,000 characters is not. */
function isWhole(literal: string): boolean {
  if (literal.length > LITERAL_LENGTH_MAX) return false
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const digits = withoutFinalZeros(whole + fraction)
  // How many of the digits stand behind the point once the exponent has moved it.
  return digits === '' || digits.length <= whole.length + Number(exponent)
}

/** A loop from the end: the expression `0+$` starts anew at every zero, so its time grows with the square of the length. */
function withoutFinalZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
