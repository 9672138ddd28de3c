import { hash } from 'node:crypto'

/** What fits into a phone number's place. */
const PHONE_LENGTH = 15

/**
 * What stands in place of an address, or of a subject at a provider, of a user who was deleted but whose row is kept: it
 * tells nothing, and frees the address for others (reference: Deletion). Null stays null.
 */
export function obscure(userId: string, value: string): string
export function obscure(userId: string, value: string | null): string | null
export function obscure(userId: string, value: string | null): string | null {
  return value === null ? null : hash('sha256', `${userId}${value}`, 'base64url')
}

/** The same for a phone number. */
export function obscurePhone(userId: string, value: string | null): string | null {
  return obscure(userId, value)?.slice(0, PHONE_LENGTH) ?? null
}
