/** How a JSON number looks once its exponent is written out, as the database prints it. */
export interface NumberSize {
  /** Characters of the plain form, sign and point included. */
  readonly length: number
  /** Digits after the point. */
  readonly fractionDigits: number
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Size of a number of the JSON grammar in plain form: `1e2` is `100`, `1.5e-3` is `0.0015`. Never writes the form itself:
 * `1e100000000` is eleven characters that would become a hundred million.
 */
export function numberSize(literal: string): NumberSize {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const shift = Number(exponent)
  const fractionDigits = Math.max(0, fraction.length - shift)
  const wholeDigits = Math.max(1, whole.length + shift)
  return { length: sign.length + wholeDigits + (fractionDigits > 0 ? 1 + fractionDigits : 0), fractionDigits }
}
