import { z } from 'zod'

/**
 * A number of a JSON text that JavaScript prints in other characters: it has lost digits, or has another form. Where no key is
 * read, it counts as the number that `JSON.parse` makes of it.
 */
export class InexactNumber {
  readonly value: number
  readonly literal: string

  constructor(value: number, literal: string) {
    this.value = value
    this.literal = literal
  }

  toString(): string {
    return String(this.value)
  }

  toJSON(): number {
    return this.value
  }
}

/**
 * Parses a JSON text of a provider. `JSON.parse` rounds numbers beyond 2^53, so two users with neighbouring ids would have one.
 * Such a number becomes an `InexactNumber`.
 * @throws SyntaxError
 */
export function parseForeignJson(text: string): unknown {
  return JSON.parse(text, (_name: string, value: unknown, ...[context]: readonly { readonly source?: string }[]) => {
    const literal = context?.source
    return typeof value === 'number' && literal !== undefined && literal !== String(value)
      ? new InexactNumber(value, literal)
      : value
  })
}

/** A whole number as its digits. `1.0` and `1e3` are refused: a provider that writes an id like that may have rounded it. */
const DIGITS = /^(?:0|-?[1-9]\d*)$/

/** A key that a provider gives somebody: a text, or the digits of a whole number. Undefined for anything else. */
export function toForeignKey(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  const literal = value instanceof InexactNumber ? value.literal : typeof value === 'number' ? String(value) : ''
  return DIGITS.test(literal) ? literal : undefined
}

/** The id of a user where the provider documents a number. */
export const NumericId = z
  .custom<number | InexactNumber>((value) => typeof value !== 'string' && toForeignKey(value) !== undefined)
  .transform((value) => toForeignKey(value) ?? '')
