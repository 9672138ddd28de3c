import { isValidIBAN } from 'ibantools'
import sepa from './sepa.json' with { type: 'json' }

/** The library that supplies the IBAN format of each country, and its release date. */
export const IBAN_DATA = { name: 'ibantools 4.5.4', asOf: '2026-04-11' } as const

/** Returns the IBAN in upper case without spaces. */
export function normaliseIban(text: string): string {
  return text.replaceAll(/\s/g, '').toUpperCase()
}

/** Whether a normalised text has the shape of an IBAN (ISO 13616): country, check digits, 4 to 30 letters or digits. */
export function hasIbanShape(iban: string): boolean {
  return /^[A-Z]{2}[0-9]{2}[A-Z0-9]{4,30}$/.test(iban)
}

/** Returns whether the check digits of a well-shaped IBAN are right (ISO 13616, mod 97-10). */
export function hasIbanChecksum(iban: string): boolean {
  const rearranged = iban.slice(4) + iban.slice(0, 4)
  // Replace each letter by its position in the alphabet plus nine: A becomes 10, Z becomes 35.
  const digits = rearranged.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))
  return BigInt(digits) % 97n === 1n
}

/**
 * Returns whether money can be sent to a normalised IBAN. Length, format and check digits must match its country (SWIFT IBAN
 * registry). Accounts of French and Finnish territories begin with FR and FI, so the codes of the territories are invalid.
 */
export function isPayableIban(iban: string): boolean {
  return isValidIBAN(iban) && !sepa.territories.includes(iban.slice(0, 2))
}

/** Returns whether a SEPA credit transfer can reach the account (EPC409-09). */
export function isSepaIban(iban: string): boolean {
  return sepa.codes.includes(iban.slice(0, 2))
}

/** Whether the account is in the European Economic Area. Its banks pass on no payer address (Regulation (EU) 2015/847). */
export function isEeaIban(iban: string): boolean {
  return isSepaIban(iban) && !sepa.outsideEea.includes(iban.slice(0, 2))
}
